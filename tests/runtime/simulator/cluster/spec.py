"""The part of a job's spec that leases use."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from forebay.job import Job
from forebay.runtime.spec import StartFrom
from forebay.runtime.task.pacing import Limits
from tests.runtime.simulator.topologies import APPLICATION, external, topics

INTERVAL_SECONDS = 4.0
"""Time between two snapshots, and between two comparisons of the topics."""


def spec_of(run: str, job: Job, tasks: int, groups: int, changelogs: Iterable[str], *, restore: bool = False) -> Any:
    """Return the spec of one driver.

    Args:
        run: Identity of the driver.
        job: The job, which must not have global tables.
        tasks: Number of tasks.
        groups: Number of groups.
        changelogs: Topics of the job that must not be recreated.
        restore: Whether the first leases restore the state.
    """
    own = _topics(changelogs)
    entry = SimpleNamespace(
        inputs=_topics(sorted(external(job))),
        errors=SimpleNamespace(name="errors"),
        stages=len(job.topology),
        job="tests.runtime.simulator.cluster.job",
        topics=lambda application: [*_topics(topics(job, 1, tasks)), *own],
        own_topics=lambda application, tasks: own,
    )
    return SimpleNamespace(
        application=APPLICATION,
        checkpoint="/checkpoint",
        run=run,
        tasks=tasks,
        groups=groups,
        entry=entry,
        matched={},
        limits=Limits(
            max_records=9,
            commit_interval_ms=10,
            shortest_interval_ms=2,
            checkpoint_interval_ms=int(INTERVAL_SECONDS * 1_000),
        ),
        start=StartFrom(),
        restore=restore,
        restore_only=False,
        align=False,
        transactional_id=lambda group: f"{APPLICATION}-group-{group}",
    )


def _topics(names: Iterable[str]) -> tuple[SimpleNamespace, ...]:
    return tuple(SimpleNamespace(name=name, declared=name) for name in names)
