"""forebay run A B ...: several jobs in one process and one Spark."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from forebay.runtime.driver.app import JobApplication
from forebay.runtime.driver.several_health import several_server
from forebay.runtime.process.memory import memory_bytes, state_bytes
from forebay.runtime.spec import Tables

_ALONE = {
    "application": "each of several jobs has the id of its service",
    "checkpoint": "each of several jobs has <home>/checkpoints/<service>",
    "logic": "settings belong to one service",
    "executors": "in a cluster each service is a separate application",
}
_SPELLED = {"logic": "set"}

log = logging.getLogger(__name__)


def require_sharable(options: dict[str, Any]) -> None:
    """Raise click.UsageError for options that only one job can have."""
    for name, reason in _ALONE.items():
        if options[name]:
            raise click.UsageError(
                f"--{_SPELLED.get(name, name)} applies to a single service, because {reason}: name one service, or "
                "omit the option"
            )
    for name in ("slots", "groups"):
        if options[name] > 1:
            raise click.UsageError(
                f"--{name} {options[name]} applies to a single service, because each of several services has one slot: "
                "name one service, or omit the option"
            )


def shared_engine(engine: dict[str, Any], jobs: int) -> dict[str, Any]:
    """Return the fields of a job's spec if `jobs` jobs share the machine's memory."""
    largest = engine["max_state_bytes"] or state_bytes(memory_bytes() // jobs, engine["tables"] is Tables.PERSISTENT)
    return {**engine, "max_state_bytes": largest}


@contextmanager
def serve(jobs: Sequence[JobApplication], host: str, port: int) -> Iterator[None]:
    """Serve health and metrics of all jobs on one port while the block runs; -1: no port. Raises PortInUse."""
    if port < 0:
        yield
        return
    pages = {job.application: (job.health, job.metrics.registry) for job in jobs}
    server = several_server(pages, host, port)
    log.info("http://%s:%d has /healthz, /readyz, /metrics of all jobs, /<service>/readyz of one", host, server.port)
    try:
        yield
    finally:
        server.close()
