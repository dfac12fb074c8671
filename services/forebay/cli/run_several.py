"""forebay run A B ...: several jobs in one process and one Spark."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from forebay.runtime.app import JobApplication
from forebay.runtime.memory import memory_bytes, state_bytes
from forebay.runtime.several_health import several_server
from forebay.runtime.spec import Tables

_ALONE = {
    "application": "its own id is its service's name",
    "checkpoint": "each has <home>/checkpoints/<service>",
    "logic": "its settings are its own",
    "executors": "in a cluster each service is an application of its own",
}
_SPELLED = {"logic": "set"}

log = logging.getLogger(__name__)


def require_sharable(options: dict[str, Any]) -> None:
    """Refuse options that are one job's. Raises click.UsageError."""
    for name, reason in _ALONE.items():
        if options[name]:
            raise click.UsageError(f"--{_SPELLED.get(name, name)} is for one service, of several {reason}: name one")
    for name in ("slots", "groups"):
        if options[name] > 1:
            raise click.UsageError(
                f"--{name} {options[name]} is for one service: each of several has one slot. Name one"
            )


def shared_engine(engine: dict[str, Any], jobs: int) -> dict[str, Any]:
    """Return a job's fields of its spec where that many share a machine's memory."""
    largest = engine["max_state_bytes"] or state_bytes(memory_bytes() // jobs, engine["tables"] is Tables.PERSISTENT)
    return {**engine, "max_state_bytes": largest}


@contextmanager
def serve(jobs: Sequence[JobApplication], host: str, port: int) -> Iterator[None]:
    """Serve health and metrics of all jobs at one port meanwhile; -1: not at all. Raises PortInUse."""
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
