"""The platform's state between commands: pids, ports and endpoints, in one JSON file."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forebay.platform.errors import PlatformError

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Ports:
    """The loopback ports to listen on. None: the recorded port, or a free port at the first start."""

    broker: int | None = None
    registry: int | None = None


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """A started process: its pid, and a token on its command line that later processes with that pid lack."""

    pid: int
    token: str


@dataclass(frozen=True, slots=True)
class ComponentRecord:
    """The port of a component, and its process while it runs."""

    port: int
    process: ProcessRecord | None = None


@dataclass(frozen=True, slots=True)
class PlatformRecord:
    """The recorded state of a platform."""

    cluster_id: str
    controller_port: int
    broker: ComponentRecord
    registry: ComponentRecord


class StateFile:
    """The JSON file of a PlatformRecord, which is written atomically."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> PlatformRecord | None:
        """Return the record; None if the platform was never started.

        Raises:
            PlatformError: the file can't be read or parsed.
        """
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise PlatformError(f"can't read {self.path}: {error.strerror}.") from error
        try:
            fields = json.loads(text)
            if fields.pop("format") != _FORMAT:
                raise ValueError("another version of forebay wrote it")
            return PlatformRecord(
                cluster_id=str(fields["cluster_id"]),
                controller_port=int(fields["controller_port"]),
                broker=_component(fields["broker"]),
                registry=_component(fields["registry"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise PlatformError(
                f"{self.path} is not valid ({error}): stop the java processes of this directory, then delete it."
            ) from error

    def save(self, record: PlatformRecord) -> None:
        """Replace the file's content with `record`.

        Raises:
            OSError: the directory can't be written.
        """
        text = json.dumps({"format": _FORMAT, **dataclasses.asdict(record)}, indent=2) + "\n"
        draft = self.path.with_suffix(".tmp")
        with draft.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.path)


def _component(fields: dict[str, Any]) -> ComponentRecord:
    process = fields["process"]
    return ComponentRecord(
        port=int(fields["port"]),
        process=None if process is None else ProcessRecord(pid=int(process["pid"]), token=str(process["token"])),
    )
