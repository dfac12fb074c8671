"""A driver's requests to the Kubernetes API, and how it interprets each answer."""

from __future__ import annotations

import time

import pytest
from kubernetes import client

from forebay.runtime.kubernetes import api as kubernetes_api
from forebay.runtime.kubernetes.api import (
    ApiConflict,
    ApiRefused,
    LeaseObject,
    WantedExecutors,
    is_followed,
    write_event,
)
from forebay.runtime.kubernetes.executors import ExecutorPods
from tests.runtime.kubernetes_server import FakeApi

PODS = ExecutorPods("demo-executor", "demo.here.svc", "here")
DEPLOYMENTS = "/apis/apps/v1/namespaces/here/deployments"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/here/leases/demo"


def deployment(replicas: int) -> dict[str, object]:
    return {"spec": {"replicas": replicas, "selector": {}, "template": {}}}


@pytest.mark.parametrize(
    ("replicas", "deleted_at", "followed"),
    [(1, None, True), (0, None, False), (1, "2030-01-01T00:00:00Z", False)],
)
def test_a_driver_is_followed_unless_it_was_scaled_away_or_uninstalled(
    api: FakeApi, replicas: int, deleted_at: str | None, *, followed: bool
) -> None:
    api.put(f"{DEPLOYMENTS}/demo", **deployment(replicas))
    api.objects[f"{DEPLOYMENTS}/demo"]["metadata"]["deletionTimestamp"] = deleted_at
    assert is_followed(PODS) is followed


def test_if_the_api_refuses_or_does_not_answer_no_driver_follows(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_followed(PODS), "uninstalled"
    api.refused.add(f"{DEPLOYMENTS}/demo")
    assert not is_followed(PODS)
    nowhere = client.Configuration(host="http://127.0.0.1:1")
    nowhere.retries = False
    monkeypatch.setattr(kubernetes_api, "api_client", lambda: client.ApiClient(nowhere))
    assert not is_followed(PODS)


def test_the_number_of_wanted_executors_follows_the_deployment(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes_api, "RETRY_SECONDS", 0.01)
    wanted = WantedExecutors(PODS)
    before = wanted.number
    assert before is None
    event = {"type": "MODIFIED", "object": {"metadata": {"name": "demo-executor"}, **deployment(3)}}
    api.events[DEPLOYMENTS] = [event]
    wanted.start()
    deadline = time.monotonic() + 20
    while wanted.number != 3:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    wanted.close()


def test_a_lease_is_taken_and_released(api: FakeApi) -> None:
    api.put(LEASE)
    lease = LeaseObject("here", "demo")
    assert lease.read() == ("", "")
    lease.write("pod-1", 15.0)
    holder, renewed = LeaseObject("here", "demo").read()
    assert holder == "pod-1"
    assert api.objects[LEASE]["spec"]["leaseDurationSeconds"] == 15
    lease.read()
    lease.write("pod-1", 15.0)
    assert lease.read()[1] != renewed, "a renewal can be seen"
    lease.write("", 15.0)
    assert lease.read()[0] == ""


def test_of_two_drivers_only_one_gets_a_lease(api: FakeApi) -> None:
    api.put(LEASE)
    one, other = LeaseObject("here", "demo"), LeaseObject("here", "demo")
    one.read()
    other.read()
    one.write("pod-1", 15.0)
    with pytest.raises(ApiConflict):
        other.write("pod-2", 15.0)
    assert one.read()[0] == "pod-1"


def test_an_event_is_about_the_pod(api: FakeApi) -> None:
    write_event("here", "pod-1", "uid-1", "NotReady", "no answer", is_warning=True)
    ((path, event),) = api.created
    assert path == "/api/v1/namespaces/here/events"
    assert (event["type"], event["reason"], event["message"]) == ("Warning", "NotReady", "no answer")
    assert event["involvedObject"]["name"] == "pod-1"
    assert event["involvedObject"]["uid"] == "uid-1"


def test_a_right_that_is_missing_is_not_an_outage(api: FakeApi) -> None:
    api.refused.add("/api/v1/namespaces/here/events")
    with pytest.raises(ApiRefused, match="403"):
        write_event("here", "pod-1", "uid-1", "NotReady", "no answer", is_warning=True)
