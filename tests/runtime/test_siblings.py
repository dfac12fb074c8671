"""Workers of one executor: the worker with the group's loop holds its lease. Real processes, forked from one."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from forebay.runtime.errors import StateConflict
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.spark import leases, passing, siblings
from forebay.runtime.spark.loops import Ident
from forebay.runtime.spark.passing import Giver, OtherWorker, WorkerGone, pass_on
from forebay.runtime.spark.siblings import FOLDER

pytestmark = pytest.mark.long

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["forebay.runtime.spark.leases"])


@dataclass
class Loop:
    is_alive: bool = True


@dataclass
class Spec:
    """A job whose lease does what it says, in any worker.

    Args:
        folder: where a lease records that it has begun, and sees that it may end.
        seconds: how long a worker without space searches for another one.
        patience: how long the worker waits for an answer, in seconds.
    """

    does: str
    folder: Path
    seconds: float = 20.0
    patience: float = 20.0
    application: str = "app"

    def transactional_id(self, group: int) -> str:
        return f"app-group-{group}"


class Explained(Exception):
    """Has a text of its __init__ arguments, as PySpark's errors do, which is lost without them."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason

    def __str__(self) -> str:
        return f"because of {self.reason}"


class Holding:
    """Holds a lease without a loop, which is in another worker."""

    def __init__(self, spec: Spec, lease: Lease, giver: Giver, begun: float) -> None:
        self.spec, self.giver, self.begun = spec, giver, begun
        self.ident: Ident = spec.application, lease.checkpoint, lease.group

    def run(self) -> list[str]:
        leases._LOOPS.put(self.ident, Loop())  # type: ignore[arg-type]
        (self.spec.folder / f"{self.spec.does}-{self.ident[2]}-{os.getpid()}").write_text(repr(self.begun))
        getattr(self, self.spec.does)()
        return [str(os.getpid())]

    def works(self) -> None:
        """End at once."""

    def waits(self) -> None:
        end = self.spec.folder / "end"
        while not end.exists():
            if self.giver.is_gone:
                (self.spec.folder / "gone").touch()
                return
            time.sleep(0.01)

    def conflicts(self) -> None:
        raise StateConflict("another has it")

    def explains(self) -> None:
        raise Explained("why")


def _work(pipe: Connection, folder: str) -> None:
    leases._Holding = Holding  # type: ignore[misc, assignment]
    os.environ[FOLDER] = folder
    leases._listen()
    pipe.send("listening")
    while True:
        spec, group = pipe.recv()
        leases._ROOM_SECONDS = spec.seconds
        siblings._SECONDS = spec.patience
        try:
            done: Any = leases._held(spec, Lease("c", 1, group, 2, 2, 0, {}))
        except Exception as error:
            done = type(error), str(error), getattr(error, "__notes__", [])
        pipe.send(done)


class Worker:
    """A Spark worker that receives leases."""

    def __init__(self, folder: str) -> None:
        self.pipe, theirs = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=_work, args=(theirs, folder), daemon=True)
        self.process.start()
        theirs.close()
        assert self.pipe.recv() == "listening"

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def give(self, spec: Spec, group: int = 0) -> None:
        self.pipe.send((spec, group))

    def result(self) -> Any:
        return self.pipe.recv()

    def hold(self, spec: Spec, group: int = 0) -> Any:
        """Hand out a lease, and return which worker held it, or the error."""
        self.give(spec, group)
        done = self.result()
        return int(done[0]) if isinstance(done, list) else done


class Executor:
    """Workers of one executor."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.workers: list[Worker] = []

    def start(self) -> Worker:
        self.workers.append(Worker(self.folder))
        return self.workers[-1]


@pytest.fixture(scope="module", autouse=True)
def _ends_the_fork_server() -> Iterator[None]:
    """Other tests count this process's children."""
    yield
    forkserver._forkserver._stop()  # type: ignore[attr-defined]
    resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]


@pytest.fixture
def executor() -> Iterator[Executor]:
    # pytest's own is too long for a socket.
    with tempfile.TemporaryDirectory() as folder:
        executor = Executor(folder)
        yield executor
        for worker in executor.workers:
            worker.process.kill()
            worker.process.join()


@pytest.fixture
def works(tmp_path: Path) -> Spec:
    return Spec("works", tmp_path)


@pytest.fixture
def waits(tmp_path: Path) -> Spec:
    return Spec("waits", tmp_path)


def appears(file: Path) -> None:
    deadline = time.monotonic() + 20.0
    while not file.exists():
        assert time.monotonic() < deadline, f"{file.name} did not appear"
        time.sleep(0.01)


def begun(spec: Spec, worker: Worker, group: int = 0) -> None:
    appears(spec.folder / f"{spec.does}-{group}-{worker.pid}")


def test_a_lease_is_held_where_the_loop_runs(executor: Executor, works: Spec) -> None:
    first, second = executor.start(), executor.start()
    assert first.hold(works) == first.pid
    assert second.hold(works) == first.pid
    assert second.hold(works) == first.pid


def test_a_group_that_runs_nowhere_goes_to_a_worker_without_a_loop(executor: Executor, works: Spec) -> None:
    first, second = executor.start(), executor.start()
    assert first.hold(works, 0) == first.pid
    assert first.hold(works, 1) == second.pid
    assert second.hold(works, 0) == first.pid
    assert first.hold(works, 1) == second.pid


def test_or_to_one_that_begins_meanwhile(executor: Executor, works: Spec, waits: Spec) -> None:
    first = executor.start()
    assert first.hold(works, 0) == first.pid
    first.give(waits, 1)
    second = executor.start()
    begun(waits, second, 1)
    (waits.folder / "end").touch()
    assert first.result() == [str(second.pid)]


def test_if_each_worker_has_a_loop_the_lease_stays(executor: Executor, works: Spec) -> None:
    works.seconds = 0.2
    first, second = executor.start(), executor.start()
    assert first.hold(works, 0) == first.pid
    assert second.hold(works, 1) == second.pid
    assert first.hold(works, 2) == first.pid


def test_leases_of_two_groups_cross(executor: Executor, works: Spec, waits: Spec) -> None:
    first, second = executor.start(), executor.start()
    assert [first.hold(works, 0), second.hold(works, 1)] == [first.pid, second.pid]
    first.give(waits, 1)
    second.give(waits, 0)
    begun(waits, first, 0)
    begun(waits, second, 1)
    (waits.folder / "end").touch()
    assert [first.result(), second.result()] == [[str(second.pid)], [str(first.pid)]]


def test_a_lease_whose_loop_is_killed_is_held_by_the_worker_that_was_given_it(
    executor: Executor, works: Spec, waits: Spec
) -> None:
    first, second = executor.start(), executor.start()
    assert first.hold(works) == first.pid
    second.give(waits)
    begun(waits, first)
    os.kill(first.pid, signal.SIGKILL)
    begun(waits, second)
    (waits.folder / "end").touch()
    assert second.result() == [str(second.pid)]
    times = {float((waits.folder / f"waits-0-{worker.pid}").read_text()) for worker in (first, second)}
    assert len(times) == 1, "a lease does not begin again with the worker that takes it up"


def test_a_lease_ends_with_the_worker_that_was_given_it_and_the_next_finds_the_loop(
    executor: Executor, works: Spec, waits: Spec
) -> None:
    first, second, third = executor.start(), executor.start(), executor.start()
    assert first.hold(works) == first.pid
    second.give(waits)
    begun(waits, first)
    os.kill(second.pid, signal.SIGKILL)
    appears(waits.folder / "gone")
    assert third.hold(works) == first.pid


def test_a_lease_waits_for_a_busy_worker_that_has_the_group(executor: Executor, works: Spec, waits: Spec) -> None:
    works.patience = waits.patience = 0.2
    first, second, third = executor.start(), executor.start(), executor.start()
    assert first.hold(works) == first.pid
    second.give(waits)
    begun(waits, first)
    third.give(works)  # a retry of the lease, while its first attempt has not finished
    third.pipe.poll(1.0)
    (waits.folder / "end").touch()
    assert third.result() == [str(first.pid)]


def test_a_frozen_worker_keeps_no_lease_from_the_others(executor: Executor, works: Spec) -> None:
    works.patience, works.seconds = 0.05, 0.0
    first, second = executor.start(), executor.start()
    assert first.hold(works) == first.pid
    os.kill(first.pid, signal.SIGSTOP)
    waiting = siblings._WAITING + 4  # more than its queue takes
    assert {second.hold(works, group) for group in range(waiting)} == {second.pid}


def test_a_worker_that_freezes_with_a_lease_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passing, "_SILENT_SECONDS", 0.3)
    monkeypatch.setattr(passing, "_HEARTBEAT_SECONDS", 0.05)
    ours, theirs = _CONTEXT.Pipe()
    with ours, theirs:
        remote = OtherWorker(theirs)

        def hold() -> None:
            theirs.recv()
            with remote.heartbeats():
                time.sleep(1.0)
                remote.end(["done"])

        holding = threading.Thread(target=hold)
        holding.start()
        assert pass_on(ours, "lease") == ["done"]
        holding.join()
    ours, theirs = _CONTEXT.Pipe()
    with ours, theirs:
        with pytest.raises(WorkerGone, match="the group's loop has ended, or hangs: it says nothing for 0 s"):
            pass_on(ours, "lease")
        assert theirs.recv() == "lease"


def test_the_error_that_ends_a_lease_reaches_spark_unchanged(executor: Executor, works: Spec, tmp_path: Path) -> None:
    first, second = executor.start(), executor.start()
    assert first.hold(works) == first.pid
    kind, text, (note,) = second.hold(Spec("conflicts", tmp_path))
    assert (kind, text) == (StateConflict, "[forebay.stop] another has it")
    assert "in conflicts" in note


def test_or_as_its_text_where_it_has_none_without_its_init(executor: Executor, works: Spec, tmp_path: Path) -> None:
    first, second = executor.start(), executor.start()
    assert first.hold(works) == first.pid
    kind, text, (note,) = second.hold(Spec("explains", tmp_path))
    assert (kind, text) == (RuntimeError, "Explained: because of why")
    assert "in explains" in note


def test_files_of_a_killed_worker_are_removed(executor: Executor, works: Spec) -> None:
    first, second = executor.start(), executor.start()
    os.kill(first.pid, signal.SIGKILL)
    first.process.join()
    assert second.hold(works) == second.pid
    (left,) = Path(executor.folder).iterdir()
    assert left.name.endswith(f"-{second.pid}")


def test_workers_of_another_executor_are_none_of_its_own(executor: Executor, works: Spec, waits: Spec) -> None:
    first = executor.start()
    assert first.hold(works) == first.pid
    (socket,) = Path(executor.folder).iterdir()
    socket.rename(socket.with_name(f"1-{first.pid}"))
    second = executor.start()
    assert second.hold(works) == second.pid


def test_a_worker_whose_socket_has_no_room_holds_its_leases_itself(works: Spec, tmp_path: Path) -> None:
    executor = Executor(str(tmp_path / ("long" * 30)))
    worker = executor.start()
    assert worker.hold(works) == worker.pid
    worker.process.kill()


def test_a_worker_that_has_gone_is_missed(works: Spec) -> None:
    ours, theirs = _CONTEXT.Pipe()
    with ours:
        giver = OtherWorker(ours)
        before = giver.is_gone
        theirs.close()
        assert (before, giver.is_gone) == (False, True)
        giver.end([])
    assert giver.is_gone
