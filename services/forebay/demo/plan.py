"""What a demo runs, and the commands that run it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from forebay.catalog import Service
from forebay.demo.children import Child
from forebay.demo.errors import DemoError
from forebay.platform.ports import HOST, free_port, is_free, require_free
from producers.catalog import all_sources

OUT_OF_ORDER = 0.02
DUPLICATES = 0.01
MALFORMED = 0.002
CONSOLE_PORT = 7080
_PRODUCER_GRACE_S = 20.0
_JOB_GRACE_S = 60.0


class PlatformAfter(Enum):
    """What becomes of the platform when the demo ends; one that ran before it is always left alone."""

    STOP = "stop"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class DemoPlan:
    """What to run.

    Args:
        home: the platform's directory, absolute.
        services: whose jobs run; all their inputs are produced.
        rate: events a second on each input topic.
        keys: number of different keys.
        seed: another seed gives other events.
        memory_mb: heap of each job's JVM, in MB.
        duration_s: seconds to go on once every job reads and writes; None = until it is interrupted.
        http_port: where the first job serves health and metrics, the next ones count up; 0 = free ones.
        console_port: where the console is served; 0: its usual port, or a free one; None: there is none.
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

    @property
    def logs(self) -> Path:
        """Where the logs of all processes are."""
        return self.home / "logs"

    def http_ports(self) -> list[int]:
        """Return the port of each service's job. Raises PlatformError if one is taken."""
        if self.http_port:
            ports = list(range(self.http_port, self.http_port + len(self.services)))
            for port, service in zip(ports, self.services, strict=True):
                require_free(port, f"job {service.name}", "--http-port")
            return ports
        found: list[int] = []
        for _ in self.services:
            found.append(free_port(frozenset(found)))
        return found

    def producers(self) -> list[list[Child]]:
        """Return each service's producers, one per input topic; a topic that an earlier service reads has its already.

        Raises:
            DemoError: nothing produces a topic.
        """
        sources = all_sources()
        seen: set[str] = set()
        children = []
        for service in self.services:
            topics = [topic.name for topic in service.inputs if topic.name not in seen]
            missing = [name for name in topics if name not in sources]
            if missing:
                raise DemoError(
                    f"nothing produces the topic {', '.join(missing)}: choose other services, or write a module with "
                    f'SOURCE = Source("{missing[0]}", ...) and producers=("MODULE",) in the entry of {service.name} '
                    "(docs/new-service.md)."
                )
            seen.update(topics)
            children.append([self._producer(topic) for topic in topics])
        return children

    def job(self, service: Service, http_port: int) -> Child:
        """Return a service's job, with health and metrics on `http_port`."""
        options = {
            "home": self.home,
            "http-port": http_port,
            "memory": f"{self.memory_mb}m",
            "log-format": "text",
        }
        command = _forebay("run", service.name, options)
        return Child(f"job {service.name}", command, self.logs / f"job-{service.name}.log", _JOB_GRACE_S)

    def console_at(self, jobs: Sequence[int]) -> int | None:
        """Return the console's port: that given, its usual one or a free one. None: there is none.

        Raises:
            PlatformError: the one given is taken.
        """
        if self.console_port:
            require_free(self.console_port, "console", "--console-port")
            return self.console_port
        if self.console_port is None:
            return None
        return CONSOLE_PORT if is_free(CONSOLE_PORT) else free_port(frozenset(jobs))

    def console(self, jobs: Sequence[int], http_port: int) -> Child:
        """Return the console of all jobs, whose health and metrics are on these ports."""
        watched = [f"{service.name}=http://{HOST}:{port}" for service, port in zip(self.services, jobs, strict=True)]
        command = (*_forebay("console", watched[0], {"home": self.home, "http-port": http_port}), *watched[1:])
        return Child("console", command, self.logs / "console.log", _PRODUCER_GRACE_S)

    def _producer(self, topic: str) -> Child:
        # Without --start events happen now, so those of a second demo with the same seed are new all the same.
        options = {
            "home": self.home,
            "rate": self.rate,
            "keys": self.keys,
            "seed": self.seed,
            "out-of-order": OUT_OF_ORDER,
            "duplicates": DUPLICATES,
            "malformed": MALFORMED,
        }
        command = _forebay("produce", topic, options)
        return Child(f"producer {topic}", command, self.logs / f"producer-{topic}.log", _PRODUCER_GRACE_S)


def _forebay(command: str, argument: str, options: Mapping[str, object]) -> tuple[str, ...]:
    given = (text for name, value in options.items() for text in (f"--{name}", str(value)))
    return (sys.executable, "-m", "forebay.cli.main", command, argument, *given)
