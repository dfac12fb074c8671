"""A topology of another process as a service, with its entry in the table of services and its job.

The environment variable FOREBAY_TOPOLOGY names the folder that `ship` wrote. Child processes and Spark's workers
inherit it, so that every process of a job reads the same topology.
"""

from __future__ import annotations

import json
import os
import pickle
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from forebay.builder.notebook_view import NoSettings
from forebay.builder.topology import Topology
from forebay.builder.topology_job import job
from forebay.catalog import Service
from forebay.declaration import declare
from forebay.interactive.pickling import dumps, loads
from forebay.job import Job
from forebay.utils.private import make_private_directory, private_files

VARIABLE = "FOREBAY_TOPOLOGY"
MODULE = "forebay.interactive.shipped"
_PICKLE = "topology.pickle"
_FACTS = "entry.json"


class CannotShip(ValueError):
    """The topology refers to something that can't be copied to another process. The message says what to do."""


class Shipped(NamedTuple):
    """The service and the job of a topology."""

    service: Service
    job: Job


def ship(topology: Topology, folder: Path, name: str, contracts: Path | None) -> Shipped:
    """Write a topology to a folder, for the processes of its job.

    Args:
        name: Name of the service.
        contracts: Folder with `<Record>.avsc` files, for topics and stores that hold records.

    Raises:
        TopologyError: The topology can't run.
        CannotShip: The topology refers to something that another process can't load.
    """
    shipped = _shipped_of(topology, name, contracts)
    try:
        data = dumps(topology)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise CannotShip(
            f"the topology of {name} can't be sent to the job's processes: {error}: create what its functions "
            "use inside of them, or put topology and functions into a module and run its service by name "
            "(docs/new-service.md)"
        ) from error
    make_private_directory(folder)
    with private_files():
        (folder / _PICKLE).write_bytes(data)
        facts = {"name": name, "contracts": "" if contracts is None else str(contracts.resolve())}
        (folder / _FACTS).write_text(json.dumps(facts), encoding="utf-8")
    return shipped


@cache
def _load(folder: Path) -> Shipped:
    facts = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
    topology: Topology = loads((folder / _PICKLE).read_bytes())
    return _shipped_of(topology, facts["name"], Path(facts["contracts"]) if facts["contracts"] else None)


def _shipped_of(topology: Topology, name: str, contracts: Path | None) -> Shipped:
    new_job = job(NoSettings, lambda _: topology, may_end=True)
    folder = "" if contracts is None else str(contracts)
    summary = "a topology of a script or notebook"
    entry = declare(name=name, summary=summary, job=MODULE, made=new_job, contracts=folder)
    return Shipped(entry, new_job)


def __getattr__(name: str) -> Any:
    """Return JOB or SERVICE, which are loaded when they are first used."""
    if name not in ("JOB", "SERVICE"):
        raise AttributeError(name)
    folder = os.environ.get(VARIABLE, "")
    if not folder:
        raise ValueError(f"no topology is named: {VARIABLE} is set by forebay.run, for the processes it starts")
    return _load(Path(folder)).job if name == "JOB" else _load(Path(folder)).service
