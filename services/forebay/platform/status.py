"""The status of the platform's components, for `forebay status`."""

from __future__ import annotations

from dataclasses import dataclass

import psutil

from forebay.platform import process
from forebay.platform.state import ComponentRecord


@dataclass(frozen=True, slots=True)
class ComponentStatus:
    """The port and endpoint of a component and, while it runs, its pid and resident memory in bytes."""

    name: str
    endpoint: str
    port: int
    pid: int | None
    memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class PlatformStatus:
    """The status of the components of a platform, without any if it was never started."""

    home: str
    components: tuple[ComponentStatus, ...]

    @property
    def running(self) -> bool:
        """Whether every component runs."""
        return bool(self.components) and all(component.pid is not None for component in self.components)


def component_status(name: str, record: ComponentRecord, endpoint: str) -> ComponentStatus:
    """Return the status of a recorded component."""
    running = process.find(record.process)
    if running is None:
        return ComponentStatus(name, endpoint, record.port, None, None)
    try:
        return ComponentStatus(name, endpoint, record.port, running.pid, running.memory_info().rss)
    except psutil.Error:
        return ComponentStatus(name, endpoint, record.port, None, None)
