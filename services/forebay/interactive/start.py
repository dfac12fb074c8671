"""The implementation of `forebay.run`, which starts `forebay run` for a service or a topology."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from forebay.builder import Topology
from forebay.catalog import Service, find_service
from forebay.interactive.checking import check_options
from forebay.interactive.commands import environment
from forebay.interactive.running import RunningJob
from forebay.interactive.shipped import ship
from forebay.service.plugins import bring_project
from forebay.utils.names import check_name

_TOPOLOGIES = "topologies"


def start(
    what: str | Service | Topology,
    *,
    name: str,
    home: Path,
    settings: Mapping[str, object],
    contracts: Path | None,
    options: Mapping[str, object],
) -> RunningJob:
    """Start a job. `forebay.run` describes the arguments and errors."""
    folder = None
    home = home.resolve()
    options = check_options(options)
    if isinstance(what, Topology):
        if not name:
            raise ValueError(
                'a topology needs a name, which is the prefix of its topics and groups: pass name="word-counts"'
            )
        check_name(name)
        folder = home / _TOPOLOGIES / name
        ship(what, folder, name, contracts)
        service = name
    else:
        bring_project(Path.cwd())
        service = find_service(what.name if isinstance(what, Service) else what).name
        if name or contracts:
            raise ValueError(
                f"name and contracts are for topologies: {service} has its own; application= names a job of it"
            )
    given = {"home": home, "set": settings, **options}
    return RunningJob(service, given, environment(folder), home / "logs")
