"""A worker without a connection to the broker fails its lease, unless it has already reported it to the driver."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from forebay.runtime.errors import Unavailable
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.spark import leases
from forebay.runtime.spark.leases import SILENT_SECONDS, Holding
from forebay.runtime.spark.worker_process import WorkerProcess
from forebay.runtime.task.pacing import Limits


class Loop:
    """A running loop."""

    is_alive, is_stuck, failure, beat_ms, trouble = True, False, None, 7, "the broker is away"

    def __init__(self) -> None:
        self.finished = SimpleNamespace(is_set=lambda: False)
        self.belongs_to: object = None
        self.keeper = SimpleNamespace(put_waiting=lambda _loop: None, write=lambda *_: None, trouble="")
        self.group = SimpleNamespace(tasks=[], measure_lag=int)
        self.events: list[str] = []

    def renew(self, lease: Lease) -> None:
        self.events.append("renewed")

    def start(self, *_: object) -> None:
        """Do nothing."""

    def hold(self, seconds: float = 0) -> None:
        """Do nothing."""

    def release(self) -> None:
        self.events.append("released")


class Control:
    """The worker's side of the control group, whose answers the test sets."""

    must_end = is_reported = False
    silent_seconds = 0.0

    def report(self, *_: object, **__: object) -> bool:
        return False


class Process(WorkerProcess):
    """A worker process whose clock and loops come from the test."""

    def __init__(self, control: Any, built: Any) -> None:
        self.now, self._control, self._built = 0.0, control, built
        self._loops: dict[Any, Any] = {}

    @property
    def loops(self) -> dict[Any, Any]:
        return self._loops

    @property
    def executor(self) -> int:
        return 7

    def monotonic(self) -> float:
        return self.now

    def control(self, spec: Any, lease: Lease) -> Any:
        return self._control

    def build(self, spec: Any, lease: Lease) -> Any:
        self.now += self._built.seconds
        if self._built.loop is None:
            raise Unavailable("the broker is away")
        return self._built.loop


class Bench:
    """A lease of a worker.

    Args:
        seconds: Time that opening the group takes.
        fails: Whether opening the group fails.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float = 0.0, *, fails: bool = False) -> None:
        monkeypatch.setattr(leases, "look_again", lambda application: None)
        limits = Limits(checkpoint_interval_ms=3_600_000)
        spec: Any = SimpleNamespace(
            application="app", checkpoint="c", limits=limits, matched={}, transactional_id=lambda group: f"app-{group}"
        )
        self.loop, self.control = Loop(), Control()
        built = SimpleNamespace(loop=None if fails else self.loop, seconds=seconds)
        self.process = Process(self.control, built)
        self.holding = Holding(spec, Lease("c1", 2, 0, 1, 1, 0, {"t": (0,)}), self.process)

    def be_silent(self, seconds: float) -> None:
        self.process.now += seconds
        self.control.silent_seconds = seconds


@pytest.mark.parametrize("fails", [True, False])
def test_an_unreported_lease_is_retried_on_another_executor(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, *, fails: bool
) -> None:
    bench = Bench(monkeypatch, fails=fails)
    bench.be_silent(SILENT_SECONDS)
    assert bench.holding.step() is None
    bench.be_silent(SILENT_SECONDS + 0.1)
    with pytest.raises(Unavailable, match="the executor has no connection to the broker: the broker is away"):
        bench.holding.step()
    assert "no answer for 60 s since lease 2 began: Spark retries the lease on another executor" in caplog.text
    assert bench.loop.events == ([] if fails else ["released"]), "the loop continues until another worker has the group"


def test_an_unreported_lease_of_an_existing_loop_is_retried_on_another_executor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench(monkeypatch)
    assert bench.holding.step() is None
    bench.holding = Holding(bench.holding._spec, Lease("c1", 3, 0, 1, 1, 0, {"t": (0,)}), bench.process)
    assert bench.holding.step() is None
    assert bench.loop.events == ["renewed"]
    bench.be_silent(SILENT_SECONDS + 0.1)
    with pytest.raises(Unavailable, match="the executor has no connection to the broker"):
        bench.holding.step()


def test_a_reported_lease_continues_without_a_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch)
    bench.control.is_reported = True
    bench.be_silent(100 * SILENT_SECONDS)
    assert bench.holding.step() is None
    assert not bench.loop.events


def test_the_time_to_open_the_group_does_not_count_as_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch, seconds=10 * SILENT_SECONDS)
    bench.control.silent_seconds = 10 * SILENT_SECONDS
    assert bench.holding.step() is None
    assert not bench.loop.events
