"""A release's network policies and its driver's permissions allow only what the release needs."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from cluster.kube import Namespace
from cluster.manifests import container, pod
from cluster.polling import poll_until
from cluster.release import ClusterBench, Release

pytestmark = pytest.mark.timeout(900, func_only=True)

ASK = """
import json, urllib.request as u, urllib.error as e
try:
    found = u.urlopen(u.Request({url!r}, headers={headers}), timeout=5)
    print(json.dumps([found.status, found.read().decode()]))
except e.HTTPError as error: print(json.dumps([error.code, error.read().decode()]))
except OSError as error: print(json.dumps([0, str(error)]))
"""


@pytest.fixture(scope="module")
def bench(release: Release) -> ClusterBench:
    """Install the release with query servers and a console, and connect to its broker."""
    release.settings = [
        f"{release.service}.queries.enabled=true",
        "console.enabled=true",
        f"console.jobs={{{release.service}}}",
    ]
    release.apply()
    return release.open()


@pytest.fixture(scope="module")
def outsider(release: Release, bench: ClusterBench) -> Iterator[Namespace]:
    """Yield another namespace with a pod of the same image."""
    other = Namespace.create_restricted()
    sleeping = container("outsider", f"forebay:{release.tag}", command=["sleep", "3600"])
    other.create(pod("outsider", [sleeping]))
    poll_until(lambda: other.is_ready("outsider"), "the outsider is ready", 120)
    yield other
    other.kubectl("delete", "namespace", other.name, "--wait=false")


@pytest.fixture(scope="module")
def reader(release: Release, bench: ClusterBench) -> tuple[str, str]:
    """Return a pod of the release's namespace that is not part of the release."""
    release.namespace.create(pod("reader", [container("reader", f"forebay:{release.tag}", command=["sleep", "3600"])]))
    poll_until(lambda: release.namespace.is_ready("reader"), "a reader of this namespace is ready", 120)
    return "reader", "reader"


def ask(namespace: Namespace, of: tuple[str, str], url: str, token: str = "") -> tuple[int, str]:
    """Request a URL from a pod's container. The status is 0 if there is no response."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    status, body = json.loads(namespace.python(*of, ASK.format(url=url, headers=headers)))
    return int(status), str(body)


def connects(namespace: Namespace, of: tuple[str, str], host: str, port: int) -> bool:
    """Return whether a pod's container can open a connection to an address."""
    code = f"import socket; socket.create_connection(({host!r}, {port}), 5).close(); print('open')"
    return namespace.python(*of, code) == "open"


def test_pods_in_another_namespace_can_not_connect(release: Release, outsider: Namespace) -> None:
    here, namespace = ("outsider", "outsider"), release.namespace.name
    places = ((f"demo-{release.service}", 8080), (f"demo-{release.service}", 7078), ("demo-broker", 9092))
    for name, port in (*places, ("demo-console", 7080)):
        assert not connects(outsider, here, f"{name}.{namespace}.svc", port), (name, port)
    url = f"http://demo-{release.service}-queries.{namespace}.svc:7070/healthz"
    assert ask(outsider, here, url)[0] == 0
    assert connects(outsider, here, "kubernetes.default.svc", 443), "the outsider itself may connect to anything"


def test_the_release_s_namespace_reads_health_and_clients_with_the_token_query(
    release: Release, reader: tuple[str, str]
) -> None:
    executor = (release.executor(), "executor")
    name = f"demo-{release.service}"
    assert not connects(release.namespace, executor, f"{name}-queries", 7070), "an executor has nothing to ask there"
    stores = f"http://{name}-queries:7070/stores"
    assert ask(release.namespace, reader, f"http://{name}:8080/healthz")[0] == 200
    assert ask(release.namespace, reader, stores)[0] == 401
    token = release.namespace.secret(f"{name}-queries-token", "token")
    status, body = ask(release.namespace, reader, stores, token)
    assert (status, json.loads(body)["stores"][0]["store"]) == (200, "user-profiles")


def test_the_console_shows_the_job_to_clients_with_its_token(release: Release, reader: tuple[str, str]) -> None:
    jobs = "http://demo-console:7080/api/jobs"
    assert ask(release.namespace, reader, "http://demo-console:7080/")[0] == 200, "the page itself holds nothing"
    assert ask(release.namespace, reader, jobs)[0] == 401
    token = release.namespace.secret("demo-console-token", "token")

    def state() -> str:
        status, body = ask(release.namespace, reader, jobs, token)
        assert status == 200, body
        (job,) = json.loads(body)["jobs"]
        assert job["name"] == release.service
        return str(job["state"])

    poll_until(lambda: state() == "running", "the console sees the job run")


def test_only_the_driver_reaches_the_api_server(release: Release, bench: ClusterBench) -> None:
    api = ("kubernetes.default.svc", 443)
    assert connects(release.namespace, (release.driver, "driver"), *api)
    assert not connects(release.namespace, (release.executor(), "executor"), *api)
    assert connects(release.namespace, (release.executor(), "executor"), "demo-broker", 9092)


def test_driver_service_account_can_not_change_pods(release: Release, bench: ClusterBench) -> None:
    can, account = release.namespace.can, f"demo-{release.service}"
    for verb, what in (
        ("watch", "pods"),
        ("update", f"lease.coordination.k8s.io/{account}"),
        ("create", "events"),
        ("get", f"deployment.apps/{release.executors}"),
    ):
        assert can(account, verb, what), (verb, what)
    for verb, what in (
        ("patch", "pod/demo-broker-0"),
        ("patch", f"pod/{release.driver}"),
        ("patch", f"pod/{release.executor()}"),
        ("delete", f"pod/{release.executor()}"),
        ("create", "leases.coordination.k8s.io"),
        ("create", "pods"),
        ("get", "secrets"),
        ("patch", f"deployment/{release.executors}"),
    ):
        assert not can(account, verb, what), (verb, what)
    assert not can(f"{account}-secrets", "get", "pods")


def test_driver_permissions_suffice_to_discover_executors(release: Release, bench: ClusterBench) -> None:
    release.scale(2)
    poll_until(lambda: "now 2 executors" in release.log(), "the driver uses both executors", 120)
    assert "forbidden" not in release.log()
