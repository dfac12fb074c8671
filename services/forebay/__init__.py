"""Forebay: state stores for Kafka streams, in Python, on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike
    from typing import Unpack

    from forebay.builder import Topology
    from forebay.catalog import Service
    from forebay.interactive import RunningJob
    from forebay.interactive.options import RunOptions

__version__ = "0.2.0"


def run(
    what: str | Service | Topology,
    *,
    name: str = "",
    home: str | PathLike[str] = ".forebay",
    settings: Mapping[str, object] | None = None,
    contracts: str | PathLike[str] | None = None,
    **options: Unpack[RunOptions],
) -> RunningJob:
    """Start a job from a script or a notebook, as `forebay run` does; return a handle to wait, look and stop with.

    The job runs in processes of its own: it goes on while a notebook's cell is interrupted.

    Args:
        what: a service, by name or entry, or a topology that is written here.
        name: of a topology: its job's topics and groups are named after it.
        home: directory of the platform's data, state and logs.
        settings: of the service's logic (`--set`).
        contracts: folder of `<Record>.avsc`, for a topology whose topics or stores hold records.
        options: those of `forebay run`, as keyword arguments: slots=2, trigger="available-now".

    Raises:
        UnknownService, TopologyError: it can't run. CannotShip: the topology holds what another process can't have.
        TypeError: there is no such option. ValueError: an option does not take this value.
    """
    from pathlib import Path  # noqa: PLC0415 (whoever only asks for the version waits for nothing)

    from forebay.interactive.start import start  # noqa: PLC0415

    folder = None if contracts is None else Path(contracts)
    return start(what, name=name, home=Path(home), settings=settings or {}, contracts=folder, options=options)
