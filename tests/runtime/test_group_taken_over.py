"""After another worker has taken over a group, the previous owner discards what it reads from the broker."""

from __future__ import annotations

import pytest

from forebay.runtime.errors import GroupFenced
from forebay.runtime.task.group import TaskGroup
from tests.runtime.simulator.setup import Setup
from tests.runtime.simulator.state import Store
from tests.runtime.simulator.worker import build
from tests.runtime.simulator.world import World


def open_group(world: World) -> TaskGroup:
    """Return a group that a new worker has just opened."""
    lease = world.driving.lease(0)
    group = build(world, lease, Store().storage(), lambda _: None)
    group.open(lease)
    return group


def work(world: World, group: TaskGroup, commits: int) -> None:
    for _ in range(commits):
        while not group.cycle(world.driving.lease(0), 0.02):
            pass


@pytest.fixture(params=["sum", "windows"])
def world(request: pytest.FixtureRequest) -> World:
    return World(Setup(request.param, 1, 1), 0)


def test_the_changelogs_ends_are_read_only_while_the_group_is_owned(world: World) -> None:
    former = open_group(world)
    work(world, former, 3)
    former.look_at_changelogs()
    known = former.coverage.offsets()
    latter = open_group(world)
    work(world, latter, 3)
    with pytest.raises(GroupFenced):
        former.look_at_changelogs()
    assert former.coverage.offsets() == known
    latter.look_at_changelogs()
    assert latter.coverage.offsets() != known


def test_changelog_offsets_are_not_updated_before_the_first_commit(world: World) -> None:
    former = open_group(world)
    known = former.coverage.offsets()
    latter = open_group(world)
    work(world, latter, 3)
    former.look_at_changelogs()
    assert former.coverage.offsets() == known


@pytest.mark.parametrize("commits", [0, 2])
def test_records_that_the_new_owner_processed_and_deleted_are_not_reported_as_lost(commits: int) -> None:
    world = World(Setup("windows", 1, 1), 0)
    former = open_group(world)
    work(world, former, commits)
    latter = open_group(world)
    work(world, latter, 8)
    latter.mark()
    with pytest.raises(GroupFenced):
        work(world, former, 1)


def test_commits_of_the_previous_owner_are_refused(world: World) -> None:
    former = open_group(world)
    work(world, former, 1)
    open_group(world)
    with pytest.raises(GroupFenced):
        work(world, former, 1)


def test_a_loop_without_commits_detects_a_takeover_by_an_empty_commit(world: World) -> None:
    former = open_group(world)
    work(world, former, 1)
    world.wait(1.0)
    former.confirm(2.0)
    latter = open_group(world)
    former.confirm(2.0)
    world.wait(1.5)
    with pytest.raises(GroupFenced):
        former.confirm(2.0)
    latter.confirm(0.0)
    work(world, latter, 1)
