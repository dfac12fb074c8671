"""Duration of installations, scaling, upgrades and pod losses in a Kubernetes cluster, and the memory of the pods.

    python -m benchmarks.cluster [--repeat 3] [--executors 3] [--all] [--object-store]

The cluster is that of KUBECONFIG. E2E_TAG and E2E_LOAD specify the images (integration-tests/cluster/conftest.py). The
job is user-sessions with 4 tasks and 200 events/s. Times are measured by a consumer of its committed outputs, through a
forwarded port. The reference in the same run is a pod of the same image that prints its version and ends.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import click

_TESTS = Path(__file__).resolve().parents[1] / "integration-tests"
sys.path.append(str(_TESTS))

from cluster.images import object_store_tag_in_cluster, tag_in_cluster, tagged_anew  # noqa: E402
from cluster.kube import Namespace, chart  # noqa: E402
from cluster.object_store import ObjectStore  # noqa: E402
from cluster.polling import poll_until  # noqa: E402
from cluster.release import Load, Release  # noqa: E402
from faults.watch import OutputWatch  # noqa: E402

from charts.umbrella import SERVICE as SERVICE_CHART  # noqa: E402
from charts.umbrella import UMBRELLA, parts  # noqa: E402

SERVICE, PRODUCER = "user-sessions", "user-activity"
STREAM = Load(seed=1, count=0, rate=200)
_SETTLED_SECONDS = 10.0
_MEMORY = (
    "cd /sys/fs/cgroup; "
    "if [ -f memory.current ]; then used=$(cat memory.current); stat=memory.stat; key=inactive_file; "
    "else used=$(cat memory/memory.usage_in_bytes); stat=memory/memory.stat; key=total_inactive_file; fi; "
    'while read -r name value; do [ "$name" = "$key" ] && echo $(( (used - value) / 1000000 )); done <$stat'
)


@click.command()
@click.option("--repeat", default=3, help="Times each pod is deleted.")
@click.option("--executors", default=3, type=click.IntRange(1), help="How many there are while pods are deleted.")
@click.option("--all", "everything", is_flag=True, help="At last install all services and producers, at 20 events/s.")
@click.option("--object-store", is_flag=True, help="The checkpoint in an S3 server made for tests, not on a volume.")
def main(repeat: int, executors: int, everything: bool, object_store: bool) -> None:
    """Run the benchmark."""
    tag = tag_in_cluster()
    release = Release(Namespace.create_restricted(), SERVICE, PRODUCER, tag)
    if object_store:
        release.settings = ObjectStore(release.namespace).start_for(SERVICE, object_store_tag_in_cluster())
    measure_one(release, repeat, executors)
    if everything:
        measure_all(Namespace.create_restricted(), tag)


def measure_one(release: Release, repeat: int, executors: int) -> None:
    """Install a service with its producer, scale it out, delete its pods, and upgrade it.

    If a step fails, the logs of the pods are stored in e2e-failures.
    """
    failures: Path | None = Path("e2e-failures") / release.namespace.name
    try:
        show("a pod that says its version (reference)", [reference(release) for _ in range(repeat)])
        begun = time.monotonic()
        release.apply(*STREAM.values(PRODUCER), wait=False)
        watch = OutputWatch(release.open())
        poll_until(
            lambda: watch.received, lambda: f"an output; the driver's log ends: {release.log()[-800:]}", 600, every=0.1
        )
        show("helm install to the first committed output", [time.monotonic() - begun])
        poll_until(lambda: release.namespace.is_ready(release.driver), "the driver is ready", 120)
        if executors > 1:
            scale_out(release, watch, executors)
        for what, pod in (
            ("an executor", f"{release.executors}-0"),
            ("the driver", release.driver),
            ("the broker", "demo-broker-0"),
        ):
            waits = [silence(watch, partial(release.replace, pod)) for _ in range(repeat)]
            show(f"{what} deleted: longest time without an output", waits)
        upgrade(release, watch)
        if executors > 1:
            pause = silence(watch, lambda: release.scale(1))
            show(f"kubectl scale from {executors} to 1: longest time without an output", [pause])
        show_memory(release.namespace)
        watch.close()
        failures = None
    finally:
        release.remove(failures)


def measure_all(namespace: Namespace, tag: str) -> None:
    """Install all services."""
    services = [part.name for part in parts() if part.chart == SERVICE_CHART]
    small = [f"{name}.{part}.resources.requests.cpu=20m" for name in services for part in ("driver", "executor")]
    values = [part for value in (f"global.image.tag={tag}", *small) for part in ("--set", value)]
    begun = time.monotonic()
    try:
        namespace.helm("install", "demo", chart(UMBRELLA), "--wait", "--timeout", "15m", *values, seconds=1000)
        show("helm install --wait of everything", [time.monotonic() - begun])
        show_memory(namespace)
    finally:
        Release(namespace, SERVICE, PRODUCER, tag).remove(None)


def reference(release: Release) -> float:
    """Return the seconds of a pod that does nothing."""
    begun = time.monotonic()
    container = {
        "name": "said",
        "image": f"forebay:{release.tag}",
        "args": ["--version"],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    security = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    spec = {"restartPolicy": "Never", "securityContext": security, "containers": [container]}
    release.namespace.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "said"}, "spec": spec})
    phase = ("get", "pod", "said", "-o", "jsonpath={.status.phase}")
    poll_until(lambda: release.namespace.kubectl(*phase) == "Succeeded", "the pod has said its version", 60, every=0.1)
    seconds = time.monotonic() - begun
    release.namespace.kubectl("delete", "pod", "said")
    return seconds


def upgrade(release: Release, watch: OutputWatch) -> None:
    """Upgrade the service to an image of another tag, and roll it back."""
    values = (*STREAM.values(PRODUCER), f"{SERVICE}.image.tag={tagged_anew('forebay', release.tag)}")
    back = ("rollback", release.name, "--wait", "--timeout", "10m")
    for what, act in (
        ("helm upgrade to another image", lambda: release.apply(*values)),
        ("helm rollback", lambda: release.namespace.helm(*back)),
    ):
        show(f"{what}: longest time without an output", [silence(watch, act)])


def scale_out(release: Release, watch: OutputWatch, executors: int) -> None:
    """Scale out to the number of executors."""
    at = time.monotonic()
    joined: list[float] = []

    def out() -> None:
        release.scale(executors)
        poll_until(lambda: f"now {executors} executors: redistributing the tasks" in release.log(), "all of them", 300)
        joined.append(time.monotonic() - at)
        ends = watch.ends()
        poll_until(lambda: watch.everywhere_beyond(ends), "outputs of all executors", 300, every=0.1)
        joined.append(time.monotonic() - at)

    pause = silence(watch, out)
    show(f"kubectl scale from 1 to {executors}: the driver uses all", joined[:1])
    show(f"kubectl scale from 1 to {executors}: every output partition continues after it", joined[1:])
    show(f"kubectl scale from 1 to {executors}: longest time without an output", [pause])


def silence(watch: OutputWatch, action: Callable[[], object]) -> float:
    """Run an action. Return the longest time (s) without an output until the release is ready again."""
    at = time.monotonic()
    action()
    ends = watch.ends()
    poll_until(lambda: watch.everywhere_beyond(ends), "outputs come again", 300, every=0.1)
    settled = time.monotonic() + _SETTLED_SECONDS
    poll_until(lambda: time.monotonic() > settled, "it is settled", 60)
    return watch.longest_silence(at)


def show(what: str, seconds: list[float]) -> None:
    """Print all times, and their median."""
    times = ", ".join(f"{second:.1f}" for second in seconds)
    print(f"  {what}: {median(seconds):.1f} s" + (f" ({times})" if len(seconds) > 1 else ""), flush=True)


def show_memory(namespace: Namespace) -> None:
    """Print the memory of the pods of each component, without memory that the kernel can reclaim."""
    used: dict[str, list[int]] = defaultdict(list)
    for pod in namespace.get("pods")["items"]:
        if pod["status"]["phase"] == "Running":
            labels = pod["metadata"]["labels"]
            component = labels.get("app.kubernetes.io/component", pod["metadata"]["name"])
            said = namespace.kubectl("exec", pod["metadata"]["name"], "--", "sh", "-c", _MEMORY, check=False)
            used[component] += [int(megabytes) for megabytes in said.split()]
    for component, megabytes in sorted(used.items()):
        print(f"  memory of {component}: {min(megabytes)} to {max(megabytes)} MB ({len(megabytes)} pods)", flush=True)


if __name__ == "__main__":
    main(standalone_mode=False)
