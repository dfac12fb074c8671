"""An edited topology decodes the unread records of its repartition topics correctly, or refuses to start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from forebay.builder import Topology, job
from forebay.builder.notebook_view import NoSettings
from forebay.formats import DOUBLE, INT, LONG, TEXT, Format, simple
from forebay.records import Record
from forebay.runtime.errors import FormatChanged
from forebay.serde.json_format import json_of
from forebay.serde.key_formats import composite
from forebay.testing import TestDriver
from tests.unread import carry_unread

REFUSAL = r"-by-repartition-0 holds .* at offset \d+ would be misread.*`forebay reset`"


class Place(Record):
    town: str
    number: int


class Spot(Record):
    number: int
    town: str


class Score(Record):
    n: int


class Rating(Record):
    n: int
    name: str = "new"


@dataclass(frozen=True)
class Version:
    """A version of a topology: its repartition's formats, and functions that make keys and values from a number."""

    key: Any = INT
    value: Any = INT
    key_of: Callable[[int], Any] = int
    value_of: Callable[[int], Any] = int

    def driver(self, name: str = "by") -> TestDriver:
        """Return a driver of a topology that repartitions numbers."""

        def build(_: Any) -> Topology:
            topology = Topology()
            numbers = topology.stream("numbers", INT)
            moved = numbers.map(lambda _, number: (self.key_of(number), self.value_of(number)), self.value, self.key)
            moved.repartition(name).to("results")
            return topology

        return TestDriver(job(NoSettings, build), tasks=1)


def read(before: Version, after: Version, **how: bool) -> list[tuple[Any, Any]]:
    """Return the keys and values that the edited topology reads from unread records of the earlier version."""
    old, new = before.driver(), after.driver()
    old.pipe("k", 7, "numbers", 1)
    assert not old.errors
    carry_unread(old, new, **how)
    assert not new.errors
    return [(output.key, output.value) for output in new.outputs]


PLACES = Version(composite(Place), key_of=lambda n: Place(town="a", number=n))
SCORES = Version(value=json_of(Score), value_of=lambda n: Score(n=n))
OWN: Format[int] = simple("own", int, lambda n: b"%d" % n, int)
SAME_OWN: Format[int] = simple("renamed", int, lambda n: b"%d" % n, int, identity="format own")

READ = {
    "as it was": (Version(), Version(), (7, 7)),
    "a value with a field more": (SCORES, Version(value=json_of(Rating), value_of=lambda n: Rating(n=n)), Rating(n=7)),
    "a format of the same identity": (Version(value=OWN), Version(value=SAME_OWN), (7, 7)),
}


@pytest.mark.parametrize("case", READ)
def test_records_with_a_compatible_format_are_processed(case: str) -> None:
    before, after, expected = READ[case]
    wanted = expected if isinstance(expected, tuple) else (7, expected)
    assert read(before, after) == [wanted]


REFUSED = {
    "long to double": (Version(value=LONG), Version(value=DOUBLE, value_of=float)),
    "text keys": (Version(), Version(TEXT, key_of=str)),
    "keys of other bytes": (Version(LONG), Version(DOUBLE, key_of=float)),
    "a key's fields in another order": (
        PLACES,
        Version(composite(Spot), key_of=lambda n: Spot(number=n, town="a")),
    ),
    "int to JSON": (Version(), SCORES),
    "another format of one's own": (
        Version(value=OWN),
        Version(value=simple("other", int, lambda n: b"%x" % n, lambda data: int(data, 16))),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_records_with_an_incompatible_format_are_refused(case: str) -> None:
    with pytest.raises(FormatChanged, match=REFUSAL):
        read(*REFUSED[case])


def test_the_refusal_names_both_formats() -> None:
    with pytest.raises(FormatChanged, match=r"holds rows of long, but is declared with double: the record at"):
        read(*REFUSED["long to double"])


@pytest.mark.parametrize("case", REFUSED)
def test_records_of_formats_that_nobody_recorded_are_refused(case: str) -> None:
    with pytest.raises(FormatChanged, match="another version of the program"):
        read(*REFUSED[case], recorded=False)


def test_records_of_the_release_before_are_never_refused() -> None:
    assert read(Version(value=LONG), Version(value=DOUBLE, value_of=float), named=False, recorded=False)


def test_an_edit_after_all_records_are_read_is_carried_over() -> None:
    before, after = REFUSED["long to double"]
    old, new = before.driver(), after.driver()
    old.pipe("k", 7, "numbers", 1)
    tasks = [task for sub_topology in old.sub_topologies for task in sub_topology.state_tasks]
    new.restore({task.place: (list(task.table.scan(b"")), task.position) for task in tasks})
    assert [output.value for output in new.pipe("k", 8, "numbers", 2)] == [8.0]
    assert not new.errors


def test_formats_stay_recorded_until_their_records_are_read() -> None:
    """Each of three versions can read records of the previous one, but the last can't read those of the first."""
    first, second = SCORES.driver(), Version(value=json_of(Rating), value_of=lambda n: Rating(n=n)).driver()
    first.pipe("k", 7, "numbers", 1)
    carry_unread(first, second)
    (task,) = second.sub_topologies[1].state_tasks
    assert len(list(task.table.scan(b"\x01layout\0"))) == 2
    third = Version().driver()
    with pytest.raises(FormatChanged, match=r"holds rows of JSON"):
        carry_unread(second, third)
