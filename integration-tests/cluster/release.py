"""A release of the umbrella chart with one service and its producer, and the records that they wrote."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from cluster.forward import BROKER_PORT, Forward, free_port
from cluster.kube import Namespace, chart
from cluster.polling import poll_until
from replays import check
from service_bench import ServiceBench
from topic_reading import Decoder

from charts.umbrella import UMBRELLA, parts
from forebay.catalog import find_service
from forebay.kafka.settings import KafkaSettings

ALL = tuple(part.name for part in parts())


@dataclass(slots=True)
class Load:
    """A bounded, seeded run of the chart's producer, whose events happen in hour `seed` of a day.

    Seeds must increase within one release. Otherwise sessions of an older hour would be closed by the wall clock, which
    the replay does not know.
    """

    seed: int
    count: int = 3_000
    rate: int = 0

    def values(self, producer: str) -> list[str]:
        """Return the values of the chart `producer`."""
        given = {
            "enabled": "true",
            "count": self.count,
            "rate": self.rate,
            "seed": self.seed,
            "keys": 120,
            "outOfOrder": 0.1,
            "duplicates": 0.05,
            "malformed": 0.05,
            "start": f"2025-01-01T{self.seed:02}:00:00Z",
        }
        return [f"{producer}.{name}={value}" for name, value in given.items()]


class ClusterBench(ServiceBench):
    """A service in the cluster, accessed through a forwarded broker and registry."""

    def __init__(self, service: str, settings: KafkaSettings) -> None:
        self.service = find_service(service)
        self.settings = settings
        self.application = service
        self.decoder = Decoder(settings.schema_registry_url)


@dataclass(slots=True)
class Release:
    """A release in a separate namespace.

    Args:
        service: Alias of the service in the umbrella chart.
        producer: Alias of the producer for the topic that the service reads.
        settings: Values that all upgrades share.
        name: Name of the release.
    """

    namespace: Namespace
    service: str
    producer: str
    tag: str
    settings: list[str] = field(default_factory=list)
    forwards: list[Forward] = field(default_factory=list)
    name: str = "demo"

    @property
    def driver(self) -> str:
        """The name of the driver's newest pod that is not terminating, or "" if there is no such pod."""
        return next(reversed(self.pods("driver")), "")

    @property
    def executors(self) -> str:
        """The name of the executors' Deployment."""
        return f"{self.name}-{self.service}-executor"

    def pods(self, component: str) -> list[str]:
        """Return the names of a component's pods that are not terminating, the oldest first."""
        own = f"app.kubernetes.io/name={self.service},app.kubernetes.io/instance={self.name}"
        items = self.namespace.get("pods", "-l", f"{own},app.kubernetes.io/component={component}")["items"]
        metadata = [item["metadata"] for item in items if "deletionTimestamp" not in item["metadata"]]
        metadata = [one for one in metadata if "batch.kubernetes.io/job-name" not in one["labels"]]
        return [one["name"] for one in sorted(metadata, key=lambda one: (one["creationTimestamp"], one["name"]))]

    def executor(self) -> str:
        """Return the name of the oldest executor pod."""
        return self.pods("executor")[0]

    def apply(self, *values: str, wait: bool = True) -> float:
        """Install or upgrade the release, and return the duration in seconds."""
        small = [f"{self.service}.{part}.resources.requests.cpu=50m" for part in ("driver", "executor")]
        off = [f"{name}.enabled=false" for name in ALL if name != self.service]
        chosen = [f"global.image.tag={self.tag}", *off, *small]
        chosen += [*self.settings, *values]
        arguments = [part for value in chosen for part in ("--set", value)]
        begun = time.monotonic()
        waiting = ("--wait", "--timeout", "10m") if wait else ()
        self.namespace.helm("upgrade", "--install", self.name, chart(UMBRELLA), *waiting, *arguments)
        return time.monotonic() - begun

    def load(self, load: Load) -> str:
        """Start a run of the producer, and return the name of its Job."""
        before = set(self.namespace.names("jobs"))
        self.apply(*load.values(self.producer), wait=False)
        (job,) = set(self.namespace.names("jobs")) - before
        return job

    def be_busy(self, bench: ClusterBench, seed: int) -> str:
        """Start a long run of the producer, wait until there are unread records, and return the name of its Job."""
        job = self.load(Load(seed, rate=60))
        poll_until(lambda: not bench.has_read_everything(), "records wait", 180, every=0.1)
        return job

    def kill(self, *pods: str) -> None:
        """Kill the processes of pods, like the failure of a machine."""
        for pod in pods:
            self.namespace.kubectl("delete", "pod", pod, "--grace-period=0", "--force", check=False)

    def finish(self, job: str, seconds: float = 300.0) -> None:
        """Wait until a producer's Job is complete."""
        selector = f"job-name={job}"
        poll_until(
            lambda: self.namespace.get("job", job)["status"].get("succeeded"),
            lambda: f"the producer {job} is through: {self.namespace.names('pods', selector)}",
            seconds,
        )

    def open(self, broker: str = "demo-broker-0", registry: str = "demo-registry-0") -> ClusterBench:
        """Forward the broker's and registry's pods to this machine."""
        door = Forward(self.namespace, registry, free_port(), 8080)
        self.forwards += [Forward(self.namespace, broker, BROKER_PORT, BROKER_PORT), door]
        for forward in self.forwards:
            forward.wait()
        url = f"http://127.0.0.1:{door.port}/apis/ccompat/v7"
        return ClusterBench(
            self.service, KafkaSettings(bootstrap_servers=f"127.0.0.1:{BROKER_PORT}", schema_registry_url=url)
        )

    def scale(self, replicas: int, seconds: float = 300.0) -> None:
        """Scale the executors as an operator would, and wait until the job uses this number of executors."""
        self.namespace.kubectl("scale", f"deployment/{self.executors}", f"--replicas={replicas}")
        selector = f"spark-app-selector={self.executors}"
        poll_until(
            lambda: len(self.namespace.names("pods", selector)) == replicas, f"{replicas} executor pods", seconds
        )
        for name in self.pods("executor"):
            poll_until(partial(self.namespace.is_ready, name), f"{name} is ready", seconds)

    def replace(self, pod: str) -> None:
        """Delete a pod, and wait until it is gone and its successor is ready."""
        before = self.namespace.uid(pod)
        component = self.namespace.get("pod", pod)["metadata"]["labels"]["app.kubernetes.io/component"]
        former = set(self.pods(component)) if component in ("driver", "executor") else set()
        self.namespace.kubectl("delete", "pod", pod, "--wait=false")
        poll_until(lambda: self.namespace.uid(pod) != before, f"{pod} is gone", 180)
        poll_until(lambda: self.is_replaced(pod, component, former), f"the successor of {pod} is ready", 300)
        for forward in self.forwards:
            forward.wait()

    def is_replaced(self, pod: str, component: str, former: set[str]) -> bool:
        """Return whether a new pod is ready. The pods of a StatefulSet keep their names."""
        if component not in ("driver", "executor"):
            return self.namespace.is_ready(pod)
        return any(self.namespace.is_ready(name) for name in self.pods(component) if name not in former)

    def until_read(self, bench: ClusterBench, seconds: float = 300.0) -> None:
        """Wait until the service has read its input."""
        poll_until(
            bench.has_read_everything,
            lambda: f"{self.service} has read its input; its log ends: {self.log()[-800:]}",
            seconds,
        )

    def settle(self, bench: ClusterBench, *jobs: str, seconds: float = 300.0) -> None:
        """Wait until everything that the producers' Jobs sent is processed, and compare with the replay."""
        for job in jobs:
            self.finish(job)
        self.until_read(bench, seconds)
        check(self.service, bench)

    def log(self, pod: str = "", container: str = "driver", *, previous: bool = False) -> str:
        """Return a pod's log, or that of its previous container."""
        which = ("--previous",) if previous else ()
        return self.namespace.kubectl("logs", pod or self.driver, "-c", container, *which, check=False)

    def remove(self, failures: Path | None) -> None:
        """Uninstall the release and delete the namespace. If a test failed, write logs to `failures` before."""
        if failures is not None:
            self.namespace.keep(failures)
        for forward in self.forwards:
            forward.close()
        self.namespace.helm("uninstall", "demo", "--wait", "--ignore-not-found", check=False)
        self.namespace.kubectl("delete", "namespace", self.namespace.name, "--wait=false")
