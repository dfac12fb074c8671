"""A case as the processor of a state task: every batch of steps begins with what the state holds, and no more."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from forebay.conformance.cell import Cell, CellCodec, Json, cell, plain
from forebay.conformance.runner import make_script
from forebay.conformance.script import Declarations, Outcome, S
from forebay.processor.api import Context, Processor
from forebay.processor.engine import BatchResult, Codecs, EngineSettings, TaskEngine, declared_stores
from forebay.processor.messages import Headers, Message
from forebay.runtime.batch import Range, TaskBatch
from forebay.runtime.marker import Marker
from forebay.runtime.ports import StateStorage
from forebay.runtime.stateformat import decode_state
from forebay.runtime.task import StateTask, TaskSettings
from forebay.stores.keyvalue import KeyValueStore
from forebay.stores.table import MemoryTable, Table

TOPIC = "steps"
_RESULTS = "results"
_MEMORY = "memory"
_CODE = "conformance"

Outcomes = dict[int, Outcome]
"""What came of steps, by their numbers."""


class CaseProcessor(Processor[Cell, Cell]):
    """Runs one case: an event is a step's number, what it forwards is what came of the step.

    Its stores are those the case's script asks for, and one for what the script must remember.
    """

    def __init__(self, case: Json) -> None:
        self.memory = KeyValueStore("memory", Cell)
        self._case = case
        declared = Declarations()
        make_script(case, declared)
        self._attributes = {name: f"store{number}" for number, name in enumerate(declared.stores)}
        for name, attribute in self._attributes.items():
            setattr(self, attribute, declared.stores[name])

    def opened(self) -> None:
        self._script = make_script(self._case, self)

    def open(self, declared: S) -> S:
        """Give the task's store of that name."""
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


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One record of a case's topic (a `Message`): its offset is the step's number."""

    number: int

    def topic(self) -> str:
        return TOPIC

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self.number

    def key(self) -> bytes | None:
        return b"case"

    def value(self) -> bytes | None:
        return CellCodec().encode(cell(self.number))

    def headers(self) -> Headers | None:
        return None

    def timestamp(self) -> tuple[int, int]:
        return 1, 0


class StepInput:
    """A topic that holds the steps' numbers (an `Input`)."""

    def read(self, ranges: Sequence[Range]) -> list[Iterator[Message]]:
        return [iter([StepRecord(number) for number in range(item.start, item.end)]) for item in ranges]


class OutcomeSink:
    """Takes the place of Kafka (a `Sink`): keeps a batch's outcomes. What the state says is what was sent."""

    def __init__(self, storage: StateStorage) -> None:
        self._storage = storage
        self.outcomes: Outcomes = {}

    def marker(self, job: str, batch: int, take_over: bool = False) -> Marker | None:
        data = self._storage.read_state()
        if data is None:
            return None
        state = decode_state(data)
        return Marker(state.job, state.batch, state.position.stream_time, state.tag.hex(), state.code_version)

    def commit(self, result: BatchResult, ranges: Sequence[Range], marker: Marker) -> None:
        for output in result.outputs:
            value = None if output.value is None else plain(CellCodec().decode(output.value))
            self.outcomes[int(output.key or b"")] = Outcome(value)
        for failed in result.errors:
            headers = {name: (text or b"").decode() for name, text in failed.headers}
            outcome = Outcome(error=headers["error.class"], text=headers["error.message"])
            self.outcomes[int(headers["error.offset"])] = outcome

    def discard(self) -> None:
        self.outcomes.clear()


class NoChangelog:
    """Takes the place of a task's changelogs: there are none."""

    def restore(self, table: Table) -> None:
        table.clear()


def task_batch(task: int, number: int, steps: range) -> TaskBatch:
    """Give a case's batch `number` (from 1), which holds those steps."""
    return TaskBatch(_CODE, task, number, 0, 0, (Range(TOPIC, 0, steps.start, steps.stop),))


def run_batch(case: Json, batch: TaskBatch, storage: StateStorage) -> Outcomes:
    """Run a batch of steps as a worker does that has just started: all it knows is in `storage`."""
    processor, table, sink = CaseProcessor(case), MemoryTable(), OutcomeSink(storage)
    cells = CellCodec()
    codecs = Codecs(
        inputs={TOPIC: cells},
        stores={store.name: cells for _, store in declared_stores(processor)},
        outputs={_RESULTS: cells},
    )
    engine = TaskEngine(processor, codecs, table, EngineSettings(service=_CODE, dedupe_retention_ms=0))
    settings = TaskSettings(f"{_CODE}-{batch.task}", _CODE)
    StateTask(engine, table, StepInput(), sink, NoChangelog(), settings).run(batch, storage)
    return sink.outcomes


def encode_outcomes(outcomes: Outcomes) -> str:
    """Give outcomes as text."""
    return json.dumps({step: asdict(outcome) for step, outcome in outcomes.items()})


def decode_outcomes(text: str) -> Outcomes:
    """Read outcomes."""
    return {int(step): Outcome(**fields) for step, fields in json.loads(text).items()}
