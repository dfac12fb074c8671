"""What a lease leaves in Spark's state can be gone on from, and be taken back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from forebay.processor.batch import BatchResult
from forebay.runtime.errors import Unavailable
from forebay.runtime.stateformat import decode_block
from forebay.runtime.task.commit import TaskCommit
from forebay.runtime.task.keeping import SnapshotKeeper
from forebay.stores import blocklog
from forebay.stores.blocklog import catch_up
from forebay.stores.memory import MemoryTable
from tests.runtime.simulator.state import Attempt, GroupState
from tests.runtime.simulator.worker import Loop, build
from tests.runtime.simulator.world import Setup, World

PLACE = (0, 0)


@dataclass
class Job:
    """A job of one task; `fails` names the point at which its broker does not answer."""

    world: World = field(default_factory=lambda: World(Setup("sum", 1, 1, records=200), 0))
    state: GroupState = field(default_factory=GroupState)
    fails: str = ""

    def at(self, point: str) -> None:
        if point == self.fails:
            raise Unavailable(point)

    def start(self, attempt: Attempt | None = None) -> Loop:
        lease = self.world.lease(0)
        loop = Loop(build(self.world, lease, attempt or self.state.attempt(), self.at), 1e9, self.world.monotonic)
        loop.start(lease)
        return loop

    def work(self, loop: Loop, commits: int = 1) -> None:
        for _ in range(commits):
            assert loop.group.cycle(self.world.lease(0), 0.02)

    def lease(self, loop: Loop, commits: int = 1) -> None:
        """Hold a lease from beginning to end."""
        attempt = self.state.attempt()
        keeper = SnapshotKeeper(attempt)
        keeper.put_waiting(loop)
        self.work(loop, commits)
        keeper.write(loop)
        self.state.commit(attempt)

    def stored_rows(self) -> dict[bytes, bytes]:
        """Return the rows of Spark's state, without what the changelogs add."""
        attempt, table = self.state.attempt(), MemoryTable()
        snapshot = attempt.read(PLACE)
        assert snapshot is not None
        catch_up(table, snapshot.directory, attempt.blocks(PLACE), decode_block)
        return dict(table.scan(b""))


def rows(loop: Loop) -> dict[bytes, bytes]:
    return dict(loop.group.tasks[0].table.scan(b""))


@pytest.fixture
def job() -> Job:
    return Job()


def test_it_holds_all_rows_and_where_the_tail_begins(job: Job) -> None:
    loop = job.start()
    for _ in range(4):
        job.lease(loop)
        assert job.stored_rows() == rows(loop)
        assert SnapshotKeeper(job.state.attempt()).renew(loop)
    again = job.start()
    assert rows(again) == rows(loop)


@pytest.mark.parametrize("point", ["ends", "commit.begin", "commit.before"])
def test_a_lease_that_ends_while_the_broker_is_away_leaves_the_snapshot_before_whole(job: Job, point: str) -> None:
    loop = job.start()
    job.lease(loop, 4)
    before = job.stored_rows()
    for _ in range(6):
        attempt = job.state.attempt()
        keeper = SnapshotKeeper(attempt)
        assert keeper.renew(loop)
        job.work(loop)
        job.fails = point
        with pytest.raises(Unavailable):
            keeper.write(loop)
        job.fails = ""
        job.state.commit(attempt)
        assert job.stored_rows() == before
        if not loop.group.is_open:
            loop.group.open(job.world.lease(0))
    assert SnapshotKeeper(job.state.attempt()).renew(loop)
    job.lease(loop)
    assert job.stored_rows() == rows(loop)


def test_what_was_taken_back_is_put_again(job: Job) -> None:
    loop = job.start()
    job.lease(loop)
    for _ in range(2):
        lost = SnapshotKeeper(job.state.attempt())
        assert lost.renew(loop)
        job.work(loop)
        lost.write(loop)
    assert SnapshotKeeper(job.state.attempt()).renew(loop)
    job.lease(loop)
    assert job.stored_rows() == rows(loop)


def test_a_loop_does_not_go_on_where_another_wrote_after_it(job: Job) -> None:
    loop = job.start()
    job.lease(loop)
    other = job.start()
    job.lease(other)
    assert not SnapshotKeeper(job.state.attempt()).renew(loop)


def test_nor_where_the_other_changed_no_row(job: Job) -> None:
    loop = job.start()
    job.lease(loop)
    other = job.start()
    other.group._commit([_empty(other)])
    attempt = job.state.attempt()
    SnapshotKeeper(attempt).write(other)
    job.state.commit(attempt)
    assert not SnapshotKeeper(job.state.attempt()).renew(loop)


def test_all_rows_in_place_of_those_before_are_read_back(job: Job) -> None:
    loop = job.start()
    for _ in range(3):
        loop.group.incomplete = True
        job.lease(loop, 2)
        assert job.stored_rows() == rows(loop)
        assert SnapshotKeeper(job.state.attempt()).renew(loop)


def test_rows_put_anew_are_put_a_few_at_a_time_while_commits_go_on(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocklog, "BLOCK_BYTES", 40)
    loop = job.start()
    job.lease(loop, 3)
    loop.group.incomplete = True
    attempt = job.state.attempt()
    keeper = SnapshotKeeper(attempt, piece_blocks=1)
    writer = loop.group.writers[PLACE]
    pieces = 0
    keeper.put_waiting(loop)
    while writer.is_anew and pieces < 3:
        job.work(loop)
        keeper.put_waiting(loop)
        pieces += 1
    assert pieces == 3, "there are more rows than that"
    loop.group.incomplete = True  # Changelogs that were read anew begin it again.
    keeper.put_waiting(loop)
    job.work(loop)
    keeper.write(loop)
    job.state.commit(attempt)
    assert job.stored_rows() == rows(loop)
    assert SnapshotKeeper(job.state.attempt()).renew(loop)
    job.lease(loop)
    assert job.stored_rows() == rows(loop)


def test_all_rows_that_were_taken_back_need_a_group_built_anew(job: Job) -> None:
    loop = job.start()
    job.lease(loop)
    loop.group.incomplete = True
    lost = SnapshotKeeper(job.state.attempt())
    assert lost.renew(loop)
    lost.write(loop)
    assert not SnapshotKeeper(job.state.attempt()).renew(loop)


def test_rows_that_are_gone_do_not_come_back_from_a_snapshot_older_than_deletes_are_kept(job: Job) -> None:
    loop = job.start()
    job.lease(loop, 6)
    table = loop.group.tasks[0].table
    stale = dict.fromkeys((key for key, _ in list(table.scan(b""))), None)
    table.clear()
    loop.group.incomplete = True
    attempt = job.state.attempt()
    SnapshotKeeper(attempt).write(loop)
    job.state.commit(attempt)
    assert stale
    assert job.stored_rows() == {}


def test_a_snapshot_is_as_old_as_its_offsets(job: Job) -> None:
    loop = job.start()
    job.lease(loop)
    learnt = loop.group.known_at
    job.world.broker.now += 60
    assert job.state.attempt().read(PLACE).written_at == learnt  # type: ignore[union-attr]


def _empty(loop: Loop) -> TaskCommit:
    """Return a commit of a task that changes no row."""
    task = loop.group.tasks[0]
    position = replace(task.position, n=task.position.n + 1)
    result = BatchResult(position=task.engine.position)
    return TaskCommit(task.settings.name, "0-0", result, position, task.changelogs)


@pytest.mark.long
def test_the_loop_is_asked_a_few_times_however_many_tasks_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each time it is asked takes a cycle of the loop: a tenth of a second where nothing comes.
    job = Job(World(Setup("sum", 64, 64, records=2_000), 0))
    loop = job.start()
    while not loop.group.is_done(job.world.lease(0)):
        loop.group.cycle(job.world.lease(0), 0.02)
    assert sum(writer.waiting > 0 for writer in loop.group.writers.values()) > 5
    asked, answer = [], loop.between_commits

    def counted(call: Callable[[], Any], seconds: float = 0) -> Any:
        asked.append(call)
        return answer(call, seconds)

    monkeypatch.setattr(loop, "between_commits", counted)
    attempt = job.state.attempt()
    SnapshotKeeper(attempt).write(loop)
    assert len(asked) == 3, "all rows that the state lacks, what came since, the snapshots"
    for place, writer in loop.group.writers.items():
        table, snapshot = MemoryTable(), attempt.read(place)
        assert snapshot is not None
        catch_up(table, snapshot.directory, attempt.blocks(place), decode_block)
        assert dict(table.scan(b"")) == dict(loop.group.tasks[place[1]].table.scan(b""))
        assert writer.waiting == 0
