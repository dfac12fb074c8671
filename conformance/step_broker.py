"""Replacements of Kafka's clients for the task of a case, with a topic of steps and a list of outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from conformance.script import Outcome
from forebay.processor.messages import Headers
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.protocol.snapshot_mark import SnapshotMark
from forebay.runtime.task.commit import TaskCommit
from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.partition_queue import InputPartition
from forebay.runtime.task.tail import Tail
from forebay.testing.cell import CellCodec, cell, plain

TOPIC = "steps"

Outcomes = dict[int, Outcome]
"""Outcomes of steps, by number of the step."""

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A record of a case's topic (a `Message`), whose offset is the number of the step."""

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


class StepReader:
    """Reader of the steps before `end`. Implements `Reader`."""

    def __init__(self, end: int) -> None:
        self.bytes = 0
        self._end = end
        self._parts: list[InputPartition] = []

    def assign(self, inputs: Iterable[TaskInput]) -> None:
        self._parts = [part for item in inputs for part in item.partitions]

    def read(self, seconds: float, most: int) -> int:
        count = 0
        for part in self._parts:
            part.until = self._end
            for number in range(part.next, min(self._end, part.next + most)):
                part.take(StepRecord(number), number)
                count += 1
        return count

    def balance(self, inputs: Iterable[TaskInput]) -> None:
        return

    def has_all(self, item: TaskInput) -> bool:
        return item.is_read

    def look(self) -> None:
        for part in self._parts:
            part.end = self._end

    def seen_ends(self) -> dict[Place, int]:
        return {}

    def written_ends(self, places: Iterable[Place]) -> dict[Place, int]:
        return {}

    def open_transactions(self) -> dict[Place, int]:
        return {}

    def close(self) -> None:
        """Do nothing, because there is no connection."""


class OutcomeProducer:
    """Producer that stores committed records as outcomes. Implements `Committer`."""

    is_open = False

    def __init__(self, outcomes: Outcomes) -> None:
        self._outcomes = outcomes

    def fence(self) -> None:
        self.is_open = True

    def commit(
        self,
        commits: Sequence[TaskCommit],
        marked: Sequence[TaskPosition] = (),
        marks: Sequence[SnapshotMark] = (),
    ) -> None:
        for commit in commits:
            for output in commit.result.outputs:
                value = None if output.value is None else plain(CellCodec().decode(output.value))
                self._outcomes[int(output.key or b"")] = Outcome(value)
            for failed in commit.result.errors:
                headers = {name: (text or b"").decode() for name, text in failed.headers}
                outcome = Outcome(error=headers["error.class"], text=headers["error.message"])
                self._outcomes[int(headers["error.offset"])] = outcome

    def discard(self) -> None:
        self.is_open = False


class StepSurroundings:
    """Surroundings without a broker. The position in the state is the committed one. Implements `Surroundings`."""

    def markers(self, places: Iterable[Place]) -> dict[Place, str]:
        return {}

    def read_tails(self, tails: list[Tail]) -> None:
        return

    def former(self, number: int) -> list[Tail]:
        return []

    def ends(self, places: Iterable[Place]) -> dict[Place, int]:
        return dict.fromkeys(places, 0)

    def inputs(self, place: tuple[int, int], lease: Lease, position: TaskPosition) -> TaskInput:
        begin = position.ends[0][2] if position.ends else 0
        return TaskInput([InputPartition(TOPIC, 0, 1, begin)])

    def check_topics(self, lease: Lease) -> None:
        """Do nothing, because there is only one topic, which can't change."""

    def purge(self, ends: Mapping[Place, int]) -> None:
        return
