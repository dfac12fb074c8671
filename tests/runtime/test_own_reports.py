"""Each bad record of a global table is reported by one sub-topology, depending on its offset."""

from __future__ import annotations

import pytest

from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.task.own_reports import with_own_reports

FIRST, SECOND = (0, 0), (1, 0)


def position(**more: object) -> TaskPosition:
    return TaskPosition("c", 3, **more)  # type: ignore[arg-type]


READ = position(ends=(("orders", 0, 9), ("prices", 0, 5), ("prices", 1, 0)))


def test_a_new_sub_topology_reports_what_the_first_one_has_read() -> None:
    own = with_own_reports(SECOND, TaskPosition("c", 0), {"prices"}, {FIRST: READ, SECOND: None})
    assert own.reports == (("prices", 0, 5),)


@pytest.mark.parametrize(
    ("place", "own", "elsewhere", "first"),
    [
        (SECOND, TaskPosition("c", 0), {"prices"}, None),
        (SECOND, position(ends=(("prices", 0, 1), ("prices", 1, 0))), {"prices"}, READ),
        (FIRST, TaskPosition("c", 0), set(), READ),
        ((1, 1), TaskPosition("c", 0), {"prices"}, READ),
    ],
    ids=[
        "a new job",
        "one that has read the table as well",
        "the first one",
        "another task, which leaves it to the first",
    ],
)
def test_other_sub_topologies_report_nothing(
    place: tuple[int, int], own: TaskPosition, elsewhere: set[str], first: TaskPosition | None
) -> None:
    assert with_own_reports(place, own, elsewhere, {FIRST: first, place: own}) == own


def test_the_report_offsets_are_part_of_the_position() -> None:
    own = position(ends=(("prices", 0, 1),), reports=(("prices", 0, 5),))
    assert TaskPosition.from_json(own.to_json()) == own
    assert with_own_reports(SECOND, own, {"prices"}, {FIRST: position(ends=(("prices", 0, 8),))}) == own
    assert b"reports" not in READ.to_json(), "a position without them is as release 0.2 wrote it"


def test_a_sub_topology_that_becomes_the_first_one_reports_everything() -> None:
    own = position(ends=(("prices", 0, 1),), reports=(("prices", 0, 5),))
    assert with_own_reports(FIRST, own, set(), {FIRST: own}).reports == ()
