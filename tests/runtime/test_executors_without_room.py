"""If no node has room for an executor's replacement, its leases end at once, so that its pod frees the memory."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from forebay.runtime.driver.plan import Plan
from forebay.runtime.driver.query import JobRunner
from forebay.runtime.kubernetes import executor_pods
from forebay.runtime.kubernetes.executor_pods import Blockade, Blocking, ExecutorPodWatch, PodState, find_blocking
from forebay.runtime.kubernetes.executors import ExecutorPods
from forebay.runtime.kubernetes.members import ExecutorWatch
from forebay.runtime.spec import JobSpec
from tests.runtime.kubernetes_server import FakeApi

PODS = ExecutorPods("demo-executor", "demo.here.svc", "here")
RUNS, ENDS = PodState(is_ending=False, lacks_node=False), PodState(is_ending=True, lacks_node=False)
WAITS = PodState(is_ending=False, lacks_node=True)
ONE = Blocking(frozenset({"old"}), is_alone=True)


@pytest.mark.parametrize(
    ("states", "blocking"),
    [
        ({"old": RUNS}, None),
        ({"old": ENDS}, None),
        ({"old": ENDS, "new": RUNS}, None),
        ({"old": RUNS, "new": WAITS}, None),
        ({"old": ENDS, "new": PodState(is_ending=True, lacks_node=True)}, None),
        ({"old": ENDS, "new": WAITS}, ONE),
        ({"old": ENDS, "new": WAITS, "other": RUNS}, Blocking(frozenset({"old"}), is_alone=False)),
    ],
)
def test_a_pod_that_ends_blocks_a_successor_without_a_node(
    states: dict[str, PodState], blocking: Blocking | None
) -> None:
    assert find_blocking(states.items()) == blocking


def test_leases_end_once_for_each_pod_and_not_for_a_moment_without_a_node() -> None:
    blockade = Blockade()
    assert blockade.due(ONE, 0.0) is None
    assert blockade.due(None, 1.0) is None
    assert blockade.due(ONE, 2.0) is None
    assert blockade.due(ONE, 3.9) is None
    assert blockade.due(ONE, 4.0) == ONE
    assert blockade.due(ONE, 5.0) is None
    assert blockade.due(ONE, 60.0) is None
    both = Blocking(frozenset({"old", "older"}), is_alone=True)
    assert blockade.due(both, 61.0) is None
    assert blockade.due(both, 63.0) == both


@pytest.fixture
def api(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    monkeypatch.setattr(executor_pods, "RETRY_SECONDS", 0.01)
    return api


def pod(name: str, *, is_ending: bool = False, reason: str = "", phase: str = "Running") -> dict[str, Any]:
    metadata = {"name": name, **({"deletionTimestamp": "2030-01-01T00:00:00Z"} if is_ending else {})}
    conditions = [{"type": "PodScheduled", "status": "False" if reason else "True", "reason": reason or None}]
    return {"type": "ADDED", "object": {"metadata": metadata, "status": {"conditions": conditions, "phase": phase}}}


def test_the_states_come_from_the_pods_of_the_deployment(api: FakeApi) -> None:
    watch = ExecutorPodWatch(PODS)
    before = watch.blocking
    assert before is None
    api.events["/api/v1/namespaces/here/pods"] = [
        pod("old", is_ending=True),
        pod("new", reason="Unschedulable"),
        pod("gone"),
        {**pod("gone"), "type": "DELETED"},
        pod("evicted"),
        {**pod("evicted", phase="Failed"), "type": "MODIFIED"},
    ]
    watch.start()
    deadline = time.monotonic() + 20
    while watch.blocking != ONE:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    watch.close()


class Runner:
    """Records the calls of the executor watch."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def rebalance(self, *, is_followed: bool = True) -> None:
        self.calls.append(f"rebalance, {is_followed}")

    def end_former_leases(self) -> None:
        self.calls.append("end former leases")


@pytest.mark.parametrize("is_alone", [True, False])
def test_other_leases_follow_if_there_are_other_executors(monkeypatch: pytest.MonkeyPatch, *, is_alone: bool) -> None:
    watch, runner = watch_of(monkeypatch, "1", is_alone=is_alone)
    rounds = iter([False, False, True])
    monkeypatch.setattr(watch._closed, "wait", lambda _seconds: next(rounds))
    watch._watch()
    assert runner.calls == [f"rebalance, {not is_alone}"]


def test_a_driver_that_starts_ends_the_loops_that_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    watch, runner = watch_of(monkeypatch, "", is_alone=True)
    rounds = iter([False, True])
    monkeypatch.setattr(watch._stopping, "is_set", lambda: next(rounds))
    monkeypatch.setattr(watch._stopping, "wait", lambda _seconds: None)
    watch.wait()
    assert runner.calls == ["end former leases"]


def watch_of(monkeypatch: pytest.MonkeyPatch, present: str, *, is_alone: bool) -> tuple[ExecutorWatch, Runner]:
    runner: Any = Runner()
    session: Any = SimpleNamespace(sparkContext=None)
    health: Any = SimpleNamespace(failing=lambda _text: None)
    stopping: Any = SimpleNamespace(is_set=lambda: False, wait=lambda _seconds: None)
    watch = ExecutorWatch(session, PODS, health, runner, stopping)
    blocking = Blocking(frozenset({"old"}), is_alone=is_alone)
    monkeypatch.setattr(watch, "_present", lambda: frozenset(present))
    monkeypatch.setattr(watch, "_wanted", SimpleNamespace(number=1, start=lambda: None))
    monkeypatch.setattr(watch, "_pod_watch", SimpleNamespace(blocking=blocking, start=lambda: None))
    monkeypatch.setattr(executor_pods, "_SETTLE_SECONDS", 0.0)
    return watch, runner


def test_loops_of_an_earlier_driver_do_not_wait_for_other_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing: Any = None
    runner = JobRunner(nothing, JobSpec("svc", "svc", 1, 1, nothing, {}, {}, "v1"), Plan(""), lambda *_: None)
    commands: list[object] = []
    control = SimpleNamespace(
        end_leases=lambda *, is_followed: commands.append(is_followed), close=lambda: commands.append("closed")
    )
    monkeypatch.setattr(runner, "_connect", lambda: control)
    runner.end_former_leases()
    assert commands == [False, "closed"]
