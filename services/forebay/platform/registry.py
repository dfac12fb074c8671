"""The schema registry: Apicurio with its Confluent-compatible API and an H2 database on disk."""

from __future__ import annotations

import dataclasses
import urllib.request
from pathlib import Path

from forebay.platform.component import Component
from forebay.platform.ports import HOST
from forebay.platform.progress import Progress
from forebay.platform.state import ComponentRecord, PlatformRecord

_REQUEST_SECONDS = 5.0
_JVM = (
    "-Xmx512m",
    "-XX:+UseSerialGC",
    # With the C2 compiler, a start takes 7.3 s of CPU time instead of 3.6 s, and 40 MB more.
    "-XX:TieredStopAtLevel=1",
    "-XX:+ExitOnOutOfMemoryError",
    "-Djava.awt.headless=true",
)


def registry_arguments(directory: Path, bind: str, port: int, progress: Progress) -> list[str]:
    """Create the database's directory. Return java's arguments.

    Raises:
        PlatformError: the registry's jar is missing.
    """
    from forebay.platform.artifacts import registry_jar  # noqa: PLC0415 (jgo is an extra)

    jar = registry_jar(progress)
    directory.mkdir(parents=True, exist_ok=True)
    # WRITE_DELAY=0: a crash must not revoke a schema id that a record already contains.
    database = f"jdbc:h2:file:{directory}/registry;WRITE_DELAY=0;DB_CLOSE_ON_EXIT=FALSE"
    settings = {
        "apicurio.datasource.url": database,
        "apicurio.datasource.jdbc.initial-size": 1,
        "apicurio.datasource.jdbc.min-size": 1,
        "apicurio.datasource.jdbc.max-size": 8,
        # With the default of 5 s for the first connection, the registry's start fails on a busy machine.
        "quarkus.datasource.h2.jdbc.acquisition-timeout": "60",
        "quarkus.http.host": bind,
        "quarkus.http.port": port,
        "quarkus.http.access-log.enabled": "false",
        "quarkus.log.console.format": "%d{yyyy-MM-dd HH:mm:ss} %p %m (%c)%n%e",
    }
    return [*_JVM, *(f"-D{name}={value}" for name, value in settings.items()), "-jar", str(jar)]


class Registry(Component):
    """A schema registry on the loopback address, whose schema ids survive restarts and crashes."""

    name = "registry"
    port_option = "--registry-port"

    def endpoint(self) -> str:
        """Return schema.registry.url."""
        return f"http://{HOST}:{self.record.port}/apis/ccompat/v7"

    def prepare(self, java: Path, progress: Progress) -> list[str]:
        """Create the database's directory. Return java's arguments."""
        return registry_arguments(self.home / "registry", HOST, self.record.port, progress)

    def answers(self) -> bool:
        """Return whether the registry returns its list of subjects, without a proxy."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"{self.endpoint()}/subjects", timeout=_REQUEST_SECONDS) as response:
                return bool(response.status == 200)
        except OSError:
            return False

    def _of(self, record: PlatformRecord) -> ComponentRecord:
        return record.registry

    def _with_component(self, record: PlatformRecord, own: ComponentRecord) -> PlatformRecord:
        return dataclasses.replace(record, registry=own)
