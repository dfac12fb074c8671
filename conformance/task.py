"""Execution of a case as the processor of a state task. Each range of steps starts with only the stored state."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import TypeVar

from conformance.runner import make_script
from conformance.script import Declarations, Outcome, S
from conformance.step_broker import TOPIC, OutcomeProducer, Outcomes, StepReader, StepSurroundings
from forebay.processor.api import Context, Processor
from forebay.processor.bound_stores import declared_stores
from forebay.processor.codecs import Codecs
from forebay.processor.engine import TaskEngine
from forebay.processor.engine_settings import EngineSettings
from forebay.runtime.changelog.topics import ChangelogRouter, ChangelogRows, internal_topic
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.task.announce import Announcer
from forebay.runtime.task.group import GroupSettings, TaskGroup
from forebay.runtime.task.pacing import Limits, Pacing
from forebay.runtime.task.snapshot import GroupStorage, SnapshotWriter
from forebay.runtime.task.snapshot_writing import SnapshotKeeper
from forebay.runtime.task.state_task import StateTask
from forebay.runtime.task.task_settings import TaskSettings
from forebay.stores.keyvalue import KeyValueStore
from forebay.stores.memory import MemoryTable
from forebay.testing.cell import Cell, CellCodec, Json, cell, plain

T = TypeVar("T")

_RESULTS = "results"
_MEMORY = "memory"
CHECKPOINT = _CODE = "conformance"


class CaseProcessor(Processor[Cell, Cell]):
    """Processor of a case. Its input is the number of a step, and it forwards the outcome of the step.

    It has the stores that the case's script declares, and a store for the script's memory.
    """

    def __init__(self, case: Json) -> None:
        self.memory = KeyValueStore("memory", Cell)
        self._case = case
        declared = Declarations()
        make_script(case, declared)
        self._attributes = {name: f"store{number}" for number, name in enumerate(declared.stores)}
        for name, attribute in self._attributes.items():
            setattr(self, attribute, declared.stores[name])

    def init(self) -> None:
        self._script = make_script(self._case, self)

    def open(self, declared: S) -> S:
        """Return the task's store of that name."""
        bound = getattr(self, self._attributes[declared.name])
        assert isinstance(bound, type(declared))
        return bound

    def timestamp(self, event: Cell) -> int:
        return 0

    def event_id(self, event: Cell) -> str | None:
        return None

    def process(self, event: Cell, ctx: Context[Cell]) -> None:
        known = self.memory.get(_MEMORY)
        if known is not None:
            self._script.remember(plain(known))
        step = plain(event)
        value = self._script.run(step)
        self.memory.put(_MEMORY, cell(self._script.memory()))
        ctx.forward(cell(value), str(step))


def run_steps(case: Json, number: int, steps: range, storage: GroupStorage) -> Outcomes:
    """Run steps of a case like a worker that has just started. All state is loaded from `storage`.

    Args:
        case: The case.
        number: Number of the case.
        steps: Numbers of the steps.
        storage: Snapshots of the case's group.
    """
    lease = Lease(_CODE, steps.start + 1, number, number + 1, number + 1, 0, {TOPIC: (0,)})
    task, sent = _task(case, number), Outcomes()
    writer = SnapshotWriter(task)
    stored = writer.load(storage)
    settings = GroupSettings(f"{_CODE}-group-{number}", idle=False)
    group = TaskGroup(
        [task],
        {task.place: writer},
        StepReader(steps.stop),
        OutcomeProducer(sent),
        StepSurroundings(),
        Pacing(Limits()),
        settings,
    )
    group.coverage.begin_with([stored])
    group.open(lease)
    while not task.input.is_done(lease.token):
        group.cycle(lease, 0)
    SnapshotKeeper(storage).write(_StandingLoop(group))
    return sent


class _StandingLoop:
    """The loop of a group between two commits. Implements `snapshot_writing.Loop`."""

    def __init__(self, group: TaskGroup) -> None:
        self.group = group

    def between_commits(self, call: Callable[[], T], seconds: float = 0) -> T:
        return call()


def _task(case: Json, number: int) -> StateTask:
    processor, table, cells = CaseProcessor(case), MemoryTable(), CellCodec()
    codecs = Codecs(
        inputs={TOPIC: cells},
        stores={store.name: cells for _, store in declared_stores(processor)},
        outputs={_RESULTS: cells},
    )
    engine = TaskEngine(processor, codecs, table, EngineSettings(service=_CODE, dedupe_retention_ms=0))
    internal = internal_topic(_CODE, 0)
    return StateTask(
        engine,
        table,
        ChangelogRouter({}, internal, number),
        ChangelogRows({}, internal),
        Announcer(),
        TaskSettings(f"{_CODE}-0-{number}", 0, number),
    )


def encode_outcomes(outcomes: Outcomes) -> str:
    """Return outcomes as text."""
    return json.dumps({step: asdict(outcome) for step, outcome in outcomes.items()})


def decode_outcomes(text: str) -> Outcomes:
    """Return outcomes from their text."""
    return {int(step): Outcome(**fields) for step, fields in json.loads(text).items()}
