"""One service in a cluster, from install to uninstall. After each fault, every output equals the replay."""

from __future__ import annotations

import json
from contextlib import closing
from functools import partial
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
from cluster.forward import Forward, free_port
from cluster.images import with_other_code
from cluster.kube import Background, CommandFailed, run
from cluster.polling import poll_until
from cluster.release import ClusterBench, Load, Release

pytestmark = pytest.mark.timeout(1200, func_only=True)

OF_INSTANCE = "app.kubernetes.io/instance=demo"


def test_every_output_equals_the_replay(release: Release, bench: ClusterBench) -> None:
    release.settle(bench, release.load(Load(seed=1, count=6_000)))
    assert release.namespace.is_ready(release.driver)


def test_scaling_out_and_in_under_load(release: Release, bench: ClusterBench) -> None:
    job = release.load(Load(seed=2, rate=60))
    release.scale(3)
    poll_until(lambda: "now 3 executors: redistributing the tasks" in release.log(), "the driver uses 3 executors", 300)
    came = release.pods("executor")[1:]
    poll_until(lambda: all("restored" in release.log(pod, "executor") for pod in came), f"{came} have groups", 120)
    release.scale(1)
    release.settle(bench, job)


def test_the_scaled_number_survives_upgrade_rollback_and_server_side_apply(
    release: Release, bench: ClusterBench
) -> None:
    release.scale(2)
    secret = f"demo-{release.service}-spark-token"
    result = release.namespace.secret(secret, "token")

    def replicas_and_token() -> tuple[int, str]:
        replicas = release.namespace.get("deployment", release.executors)["spec"]["replicas"]
        return int(replicas), release.namespace.secret(secret, "token")

    release.apply(f"{release.service}.serviceAccount.annotations.upgraded=yes")
    assert replicas_and_token() == (2, result)
    release.namespace.helm("rollback", "demo", "--wait", "--timeout", "5m")
    assert replicas_and_token() == (2, result)
    rendered = release.namespace.helm("get", "manifest", "demo")
    run("kubectl", "apply", "--server-side", "--force-conflicts", "-f", "-", given=rendered)
    assert replicas_and_token() == (2, result)
    release.scale(1)


def test_scaling_to_zero_and_back_loses_nothing(release: Release, bench: ClusterBench) -> None:
    release.scale(0)
    poll_until(lambda: not release.namespace.is_ready(release.driver), "the driver is not ready without executors")
    job = release.load(Load(seed=3))
    release.finish(job)
    release.namespace.kubectl("exec", release.driver, "-c", "driver", "--", "sh", "-c", "kill 1")
    said = "user-sessions: stopped"
    poll_until(lambda: said in release.log(previous=True), "a driver without executors ends when it is asked to", 120)
    release.scale(1)
    release.settle(bench, job)


@pytest.mark.parametrize("pod", ["driver", "executor", "broker"])
def test_deleting_a_pod_under_load_loses_no_record(release: Release, bench: ClusterBench, pod: str) -> None:
    names = {"driver": release.driver, "executor": release.executor(), "broker": "demo-broker-0"}
    name = names[pod]
    seed = 4 + list(names).index(pod)
    job = release.be_busy(bench, seed=seed)
    release.replace(name)
    release.settle(bench, job)


def test_killing_processes_under_load_loses_no_record(release: Release, bench: ClusterBench) -> None:
    job = release.be_busy(bench, seed=7)
    release.kill(release.driver, release.executor())
    release.settle(bench, job)


def test_queries_give_the_rows_of_the_changelog(release: Release, bench: ClusterBench) -> None:
    release.settings.append(f"{release.service}.queries.enabled=true")
    release.apply()
    (pod,) = release.namespace.names("pods", f"{OF_INSTANCE},app.kubernetes.io/component=queries")
    with closing(Forward(release.namespace, pod, free_port(), 7070)) as forward:
        forward.wait()
        token = release.namespace.secret(f"demo-{release.service}-queries-token", "token")
        rows = pull_rows(f"http://127.0.0.1:{forward.port}/stores/user-profiles", token)
    changelog = bench.changelog("user-profiles")
    assert rows == {key.decode(): row for of_task in changelog.values() for key, row in of_task.items()}
    assert len(rows) == 120


def pull_rows(url: str, token: str) -> dict[str, Any]:
    """Query a store page by page, and return all of its rows."""
    headers = {"Authorization": f"Bearer {token}"}
    rows: dict[str, Any] = {}
    page = {"more": True, "next": ""}
    while page["more"]:
        asked = Request(f"{url}?{urlencode({'limit': 50, 'after': page['next']})}", headers=headers)
        with urlopen(asked, timeout=30) as response:
            page = json.load(response)
        rows |= {entry["key"]: entry["value"] for entry in page["entries"]}
    return rows


def same_pods(release: Release, before: dict[str, str], *pods: str) -> list[str]:
    """Return the pods that were not replaced."""
    return [pod for pod in pods if release.namespace.uid(pod) == before[pod]]


def test_draining_a_node_loses_no_record_and_keeps_one_executor(release: Release, bench: ClusterBench) -> None:
    nodes = run("kubectl", "get", "nodes", "-o", "jsonpath={.items[*].metadata.name}").split()
    if len(nodes) != 1:
        pytest.skip("that all pods are on the node that is drained is known of a cluster of one node only")
    release.scale(2)
    pods = [release.driver, *release.pods("executor")]
    before = {pod: release.namespace.uid(pod) for pod in pods}
    job = release.be_busy(bench, seed=8)
    own = f"app.kubernetes.io/name={release.service},app.kubernetes.io/instance=demo"
    evict = f"--pod-selector={own}", "--delete-emptydir-data", "--timeout=900s"
    with closing(Background("kubectl", "drain", nodes[0], *evict)) as drain:
        try:
            poll_until(lambda: "disruption budget" in drain.output(), "an executor is kept", 300)
            poll_until(lambda: len(same_pods(release, before, *pods[1:])) == 1, "one executor is gone", 300)
            (survivor,) = same_pods(release, before, *pods[1:])
            # The executor is no longer ready, because its driver is gone and can't return to the only node.
            assert release.namespace.get("pod", survivor)["status"]["phase"] == "Running", drain.output()
        finally:
            run("kubectl", "uncordon", nodes[0])
        assert drain.wait(600) == 0, drain.output()
    poll_until(lambda: not same_pods(release, before, *pods), "all pods are others", 300)
    for pod in (release.driver, *release.pods("executor")):
        poll_until(partial(release.namespace.is_ready, pod), f"{pod} is ready", 300)
    release.settle(bench, job)
    release.scale(1)


def test_upgrade_and_rollback_lose_no_record(release: Release, bench: ClusterBench) -> None:
    before = release.namespace.uid(release.driver)
    revision = release.namespace.helm("history", "demo", "--max", "1", "-o", "json")
    job = release.load(Load(seed=9, rate=60))
    release.settings.append(f"{release.service}.podAnnotations.upgraded=yes")
    release.apply(*Load(seed=9, rate=60).values(release.producer))
    upgraded = release.namespace.uid(release.driver)
    assert upgraded not in ("", before)
    release.settings.pop()
    release.finish(job)
    release.namespace.helm("rollback", "demo", "--wait", "--timeout", "10m")
    assert release.namespace.uid(release.driver) not in ("", upgraded), revision
    release.settle(bench)


def test_upgrade_to_incompatible_code_loses_no_record(release: Release, bench: ClusterBench) -> None:
    release.scale(2)
    load = Load(seed=10, rate=60)
    job = release.load(load)
    release.settings.append(f"{release.service}.image.tag={with_other_code(release.tag)}")
    release.apply(*load.values(release.producer))
    release.settings.pop()
    (driver,) = release.namespace.get("pod", release.driver)["status"]["containerStatuses"]
    assert driver["restartCount"] == 0, "a driver waits for executors that run its own code"
    release.finish(job)
    release.namespace.helm("rollback", "demo", "--wait", "--timeout", "10m")
    release.scale(1)
    release.settle(bench)


def test_helm_test_fails_unless_outputs_are_committed_while_it_runs(release: Release, bench: ClusterBench) -> None:
    release.settings.append(f"{release.service}.test.seconds=60")
    release.scale(0)
    release.apply(wait=False)
    with pytest.raises(CommandFailed, match="within 60 s too few records were committed to user_session_stats"):
        release.namespace.helm("test", "demo", "--logs", "--timeout", "5m")
    release.scale(1)
    poll_until(lambda: release.namespace.is_ready(release.driver), "the driver is ready again", 180)
    job = release.load(Load(seed=11, rate=30))
    assert "Succeeded" in release.namespace.helm("test", "demo", "--timeout", "5m")
    release.settle(bench, job)


def test_workers_continue_while_the_driver_is_replaced_and_stop_after_the_last_driver(
    release: Release, bench: ClusterBench
) -> None:
    executor, driver = release.executor(), f"deployment/demo-{release.service}"

    def count_continued() -> int:
        return release.log(executor, "executor").count(
            "the loops of this worker continue until other workers take over"
        )

    job = release.be_busy(bench, seed=12)
    before = count_continued()
    release.replace(release.driver)
    replaced = count_continued()
    assert replaced > before
    said = "the loops of this worker have ended"
    poll_until(lambda: release.log(executor, "executor").count(said) >= replaced, "others have taken over", 120)
    release.namespace.kubectl("scale", driver, "--replicas=0")
    poll_until(lambda: not release.pods("driver"), "the driver is gone", 120)
    assert count_continued() == replaced
    release.namespace.kubectl("scale", driver, "--replicas=1")
    poll_until(lambda: release.namespace.is_ready(release.driver), "the driver is back", 180)
    release.settle(bench, job)


@pytest.mark.parametrize("component", ["driver", "executor"])
def test_a_lost_node_s_pod_is_replaced_while_its_object_remains(
    release: Release, bench: ClusterBench, component: str
) -> None:
    job = release.be_busy(bench, seed=14 + len(component))
    (lost,) = release.pods(component)
    # After the loss of a node, the processes are gone, but the pod's object remains. The finalizer simulates this.
    release.namespace.kubectl(
        "patch", "pod", lost, "--type=merge", "-p", '{"metadata":{"finalizers":["forebay.io/lost"]}}'
    )
    release.namespace.kubectl("delete", "pod", lost, "--grace-period=0", "--force", "--wait=false")
    try:
        poll_until(lambda: release.namespace.is_ready(release.driver), "a driver is ready", 300)
        release.settle(bench, job)
        assert release.namespace.uid(lost), "its object is still there"
    finally:
        release.namespace.kubectl("patch", "pod", lost, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')


def test_uninstall_leaves_nothing_behind_but_the_volumes(release: Release, bench: ClusterBench) -> None:
    release.namespace.helm("uninstall", "demo", "--wait", "--timeout", "5m")
    kinds = "all,configmap,serviceaccount,secret,role,rolebinding,networkpolicy,poddisruptionbudget"
    own = "app.kubernetes.io/instance=demo"
    poll_until(lambda: not release.namespace.names(kinds, own), "everything of the release is gone", 180)
    assert sorted(release.namespace.names("pvc")) == [
        "data-demo-broker-0",
        "data-demo-registry-0",
        f"demo-{release.service}-checkpoint",
    ]


def test_a_reinstalled_release_resumes_where_it_stopped(release: Release, bench: ClusterBench) -> None:
    release.apply()
    for forward in release.forwards:
        forward.wait()
    release.settle(bench, release.load(Load(seed=23)))
