"""The command lines and environment of the processes of a script's or notebook's job."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from forebay.interactive import shipped
from forebay.service.plugins import VARIABLE

_OF_QUERIES = ("home", "application", "bootstrap_servers", "schema_registry_url", "kafka_option", "set")
"""Options that `forebay queries` must receive with the same values as `forebay run`."""


def command_line(command: str, service: str, options: Mapping[str, object]) -> tuple[str, ...]:
    """Return the command line of a command with options as keyword arguments (see `words`)."""
    given = (word for name, value in options.items() for word in words(name, value))
    return (sys.executable, "-m", "forebay.cli.main", command, service, *given)


def words(name: str, value: object) -> Iterator[str]:
    """Yield an option's words. True and False become --name and --no-name, each item of a mapping or list an option."""
    option = f"--{name.replace('_', '-')}"
    match value:
        case None:
            return
        case bool():
            yield option if value else f"--no-{option.removeprefix('--')}"
        case Mapping():
            for key, item in value.items():
                yield from (option, f"{key}={item}")
        case list() | tuple():
            for item in value:
                yield from (option, str(item))
        case _:
            yield from (option, str(value))


def of_queries(options: Mapping[str, object]) -> dict[str, object]:
    """Return those options of a job that its query server needs, too."""
    return {name: value for name, value in options.items() if name in _OF_QUERIES}


def environment(topology: Path | None) -> dict[str, str]:
    """Return the environment of a job's processes, which lets them import the same modules as this process.

    Args:
        topology: Folder of the topology that the job runs. None: the job runs a service by its name.
    """
    variables = dict(os.environ)
    if topology is not None:
        named = [name for name in variables.get(VARIABLE, "").split(",") if name and name != shipped.MODULE]
        variables |= {VARIABLE: ",".join([*named, shipped.MODULE]), shipped.VARIABLE: str(topology)}
    own = [str(Path(entry or ".").resolve()) for entry in sys.path if not _is_pythons(entry)]
    variables["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(own))
    return variables


def _is_pythons(entry: str) -> bool:
    """Return whether this Python adds an entry to sys.path in every process."""
    folder = Path(entry or ".").resolve()
    return entry.endswith(".zip") or any(
        folder.is_relative_to(Path(root) / "lib") for root in (sys.prefix, sys.base_prefix)
    )
