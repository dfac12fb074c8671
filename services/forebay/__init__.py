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
    """Start a job from a script or a notebook, as `forebay run` does, and return a handle to it.

    The job runs in its own processes, so that interrupting a notebook's cell does not stop it.

    Args:
        what: A topology, or a service given by its name or entry.
        name: Name of the job, if `what` is a topology. It prefixes the names of its topics and groups.
        home: Folder for data, state and logs.
        settings: Settings of the service's logic (`--set`).
        contracts: Folder with `<Record>.avsc` files, if `what` is a topology whose topics or stores hold records.
        options: Options of `forebay run` as keyword arguments, for example slots=2, trigger="available-now".

    Raises:
        UnknownService: There is no service with this name.
        TopologyError: The topology can't run.
        CannotShip: The topology refers to something that another process can't load.
        TypeError: An option is unknown.
        ValueError: An option has an invalid value.
    """
    from pathlib import Path  # noqa: PLC0415 (keeps a look at the version fast)

    from forebay.interactive.start import start  # noqa: PLC0415

    folder = None if contracts is None else Path(contracts)
    return start(what, name=name, home=Path(home), settings=settings or {}, contracts=folder, options=options)
