"""After an operator's mistake the pod is not ready, its log and status name the remedy, and no data is harmed."""

from __future__ import annotations

import json
from urllib.request import Request, urlopen

import pytest
from cluster.polling import poll_until
from cluster.release import ClusterBench, Load, Release

from forebay.kafka.registry import SchemaRegistry, subject_of
from forebay.serde import Schema

pytestmark = pytest.mark.timeout(1200, func_only=True)

UNKNOWN = "unknown.invalid:9092"
CHANGELOG = "user-sessions-user-profiles-changelog"
THEIRS = {
    "type": "record",
    "name": "UserProfile",
    "namespace": "forebay.user_sessions",
    "fields": [{"name": "total_sessions", "type": "string"}],
}


def says(release: Release, *texts: str) -> None:
    """Wait until the driver has ended and `kubectl describe` shows these texts."""
    words = release.namespace.last_words
    poll_until(lambda: all(text in words(release.driver) for text in texts), f"the driver ends with {texts}", 300)
    assert not release.namespace.is_ready(release.driver)


def test_a_wrong_address_is_logged_and_retried(release: Release) -> None:
    release.apply(
        "broker.enabled=false",
        f"global.kafka.bootstrapServers={UNKNOWN}",
        "global.kafka.schemaRegistryUrl=http://unknown.invalid:8080",
        wait=False,
    )
    poll_until(lambda: UNKNOWN in release.log(container="wait"), "the address is in the log", 180)
    (said,) = release.log(container="wait").splitlines()
    assert f"waiting for the broker {UNKNOWN}: the name unknown.invalid is not known here" in said
    assert "--bootstrap-servers (FOREBAY_BOOTSTRAP_SERVERS)" in said
    waiting = release.namespace.get("pod", release.driver)["status"]["initContainerStatuses"][0]
    assert "running" in waiting["state"]
    assert waiting["restartCount"] == 0


def test_missing_topic_error_names_the_command_that_creates_it(release: Release) -> None:
    release.apply(f"{release.service}.topics.create=false", wait=False)
    says(release, "user_activity", "forebay topics create user-sessions")


@pytest.fixture(scope="module")
def bench(release: Release) -> ClusterBench:
    """Disable the service, and connect to the broker and the registry."""
    release.apply(f"{release.service}.enabled=false")
    return release.open()


def test_incompatible_schema_is_reported_and_the_job_starts_once_it_is_deleted(
    release: Release, bench: ClusterBench
) -> None:
    registry = bench.settings.schema_registry_url
    SchemaRegistry(bench.settings.registry()).register(subject_of(CHANGELOG), Schema(json.dumps(THEIRS)))
    release.apply(wait=False)
    says(release, "UserProfile is incompatible", CHANGELOG)
    for how in ("", "?permanent=true"):
        urlopen(Request(f"{registry}/subjects/{subject_of(CHANGELOG)}{how}", method="DELETE"), timeout=20).close()
    poll_until(lambda: release.namespace.is_ready(release.driver), "the driver has come back and is ready", 600)
    release.settle(bench, release.load(Load(seed=1, count=6_000)))


def test_a_second_driver_is_refused_the_checkpoint_and_the_first_continues(
    release: Release, bench: ClusterBench
) -> None:
    spec = release.namespace.get("deployment", f"demo-{release.service}")["spec"]["template"]["spec"]
    may_reach_the_broker = {"app.kubernetes.io/part-of": "forebay"}
    second = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "second", "labels": may_reach_the_broker},
        "spec": {**spec, "restartPolicy": "Never"},
    }
    job = release.load(Load(seed=2, rate=60))
    release.namespace.create(second)
    words = release.namespace.last_words
    poll_until(lambda: "another job holds the checkpoint" in words("second"), "the second driver ends", 300)
    assert "stop it first" in words("second")
    assert not release.namespace.is_ready("second")
    release.settle(bench, job)


def test_second_release_with_the_same_application_id_is_refused(release: Release, bench: ClusterBench) -> None:
    other = Release(release.namespace, release.service, release.producer, release.tag, name="other")
    job = release.load(Load(seed=3, rate=60))
    other.apply(
        "broker.enabled=false",
        "global.kafka.bootstrapServers=demo-broker:9092",
        "global.kafka.schemaRegistryUrl=http://demo-registry:8080/apis/ccompat/v7",
        wait=False,
    )
    says(other, "its last commit belongs to checkpoint", "another job runs under the same application id")
    other.namespace.helm("uninstall", "other", "--wait")
    release.settle(bench, job)


def test_an_executor_without_credentials_is_rejected(release: Release, bench: ClusterBench) -> None:
    release.apply()
    template = release.namespace.get("deployment", release.executors)["spec"]["template"]
    (container,) = template["spec"]["containers"]
    proof = [argument for argument in container["args"] if argument.startswith("--spark-secret")]
    assert len(proof) == 1
    container["args"].remove(proof[0])
    labels = ("app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/component")
    may_reach_the_driver = {name: template["metadata"]["labels"][name] for name in labels}
    stranger = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "stranger", "labels": may_reach_the_driver},
        "spec": template["spec"],
    }
    release.namespace.create(stranger)
    refused = "the executor ended"
    poll_until(
        lambda: release.log("stranger", "executor").count(refused) > 1, "the stranger is refused again and again", 300
    )
    assert "now 2 executors" not in release.log()
    release.settle(bench, release.load(Load(seed=4)))
