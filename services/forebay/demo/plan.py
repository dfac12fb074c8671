"""The plan of a demo, and the commands of its processes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from forebay.catalog import Service, Topic
from forebay.demo.children import Child
from forebay.demo.errors import DemoError
from forebay.platform.ports import HOST, free_port, is_free, require_free
from forebay.producing.sources import all_sources
from forebay.service.renaming import actual_names

OUT_OF_ORDER = 0.02
DUPLICATES = 0.01
MALFORMED = 0.002
CONSOLE_PORT = 7080
_PRODUCER_GRACE_S = 20.0
_JOB_GRACE_S = 60.0


class PlatformAfter(Enum):
    """What the demo does with the platform at its end. A platform that ran before the demo is always left alone."""

    STOP = "stop"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class DemoPlan:
    """The plan of a demo.

    Args:
        home: the platform's directory, absolute.
        services: services whose jobs run. Producers run for all their inputs.
        rate: events per second on each input topic.
        keys: number of different keys.
        seed: seed of the random events.
        memory_mb: heap of the jobs' JVM, in MB.
        duration_s: seconds to run once every job reads and writes; None: until it is interrupted.
        http_port: port of the jobs' health and metrics; 0: a free port.
        disorder: whether some events are late, repeated or malformed.
        console_port: port of the console; 0: its usual port, or a free one; None: no console.
    """

    home: Path
    services: tuple[Service, ...]
    rate: float
    keys: int
    seed: int
    memory_mb: int
    duration_s: float | None
    http_port: int = 0
    platform_after: PlatformAfter = PlatformAfter.STOP
    console_port: int | None = None
    disorder: bool = False

    @property
    def logs(self) -> Path:
        """The directory of the logs of all processes."""
        return self.home / "logs"

    @property
    def job_name(self) -> str:
        """The name of the jobs' process in messages and logs."""
        return f"job {self.services[0].name}" if len(self.services) == 1 else "jobs"

    def chosen_port(self) -> int:
        """Return the port of the jobs' health and metrics. Raises PlatformError if it is in use."""
        if self.http_port:
            require_free(self.http_port, self.job_name, "--http-port")
        return self.http_port or free_port(frozenset())

    def pages(self, service: Service) -> str:
        """Return the prefix of a service's /readyz and /metrics, as several jobs share one port."""
        return "" if len(self.services) == 1 else f"/{service.name}"

    def producers(self) -> list[list[Child]]:
        """Return each service's producers, one per input topic, except for topics that an earlier service reads, too.

        Raises:
            DemoError: a topic has no producer.
        """
        sources = all_sources()
        seen: set[str] = set()
        children = []
        for service in self.services:
            topics = [topic for topic in service.inputs if topic.name not in seen]
            missing = [topic.declared for topic in topics if topic.declared not in sources]
            if missing:
                raise DemoError(
                    f"nothing produces the topic {', '.join(missing)}: choose other services, or write a module with "
                    f'SOURCE = Source("{missing[0]}", ...) and producers=("MODULE",) in the entry of {service.name} '
                    "(docs/new-service.md)."
                )
            seen.update(topic.name for topic in topics)
            children.append([self._producer(topic) for topic in topics])
        return children

    def jobs(self, http_port: int) -> Child:
        """Return the process of the services' jobs, with health and metrics on `http_port`."""
        options: dict[str, object] = {
            "home": self.home,
            "http-port": http_port,
            "memory": f"{self.memory_mb}m",
            "log-format": "text",
        }
        names = (service.name for service in self.services)
        # The demo has checked them already.
        command = (*_forebay("run", *names, **options), "--no-check", *_topic_options(self._shared_topics()))
        return Child(self.job_name, command, self.logs / f"{self.job_name.replace(' ', '-')}.log", _JOB_GRACE_S)

    def console_at(self, jobs: int) -> int | None:
        """Return the console's port: that of the plan, its usual port, or a free one. None: no console.

        Args:
            jobs: port of the jobs' health and metrics.

        Raises:
            PlatformError: the port of the plan is in use.
        """
        if self.console_port:
            require_free(self.console_port, "console", "--console-port")
            return self.console_port
        if self.console_port is None:
            return None
        return CONSOLE_PORT if is_free(CONSOLE_PORT) else free_port(frozenset({jobs}))

    def console(self, jobs: int, http_port: int) -> Child:
        """Return the process of the console of all jobs, whose health and metrics are on the port `jobs`."""
        watched = [f"{service.name}=http://{HOST}:{jobs}{self.pages(service)}" for service in self.services]
        options: dict[str, object] = {"home": self.home, "http-port": http_port}
        command = (*_forebay("console", *watched, **options), *_topic_options(self._shared_topics()))
        return Child("console", command, self.logs / "console.log", _PRODUCER_GRACE_S, only_shows=True)

    def _shared_topics(self) -> Iterator[Topic]:
        return (topic for service in self.services for topic in (*service.inputs, *service.outputs))

    def _producer(self, topic: Topic) -> Child:
        # Without --start, event times begin now, so the events of a second demo with the same seed are not duplicates.
        options: dict[str, object] = {
            "home": self.home,
            "rate": self.rate,
            "keys": self.keys,
            "seed": self.seed,
        }
        if self.disorder:
            options |= {"out-of-order": OUT_OF_ORDER, "duplicates": DUPLICATES, "malformed": MALFORMED}
        command = (*_forebay("produce", topic.declared, **options), *_topic_options((topic,)))
        return Child(f"producer {topic.name}", command, self.logs / f"producer-{topic.name}.log", _PRODUCER_GRACE_S)


def _forebay(command: str, *arguments: str, **options: object) -> tuple[str, ...]:
    given = (text for name, value in options.items() for text in (f"--{name}", str(value)))
    return (sys.executable, "-m", "forebay.cli.main", command, *arguments, *given)


def _topic_options(topics: Iterable[Topic]) -> list[str]:
    """Return the --topic options of renamed topics."""
    return [f"--topic={declared}={name}" for declared, name in actual_names(topics).items()]
