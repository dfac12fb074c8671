"""Decides whether a job restores its state from its changelogs, as at the first start with a new checkpoint."""

from __future__ import annotations

from forebay.catalog import Service
from forebay.runtime.driver.checkpoint import is_begun
from forebay.runtime.driver.job_options import JobOptions
from forebay.runtime.driver.restore import Restore, prepare_restore, refuse_without_positions
from forebay.runtime.errors import StopJob
from forebay.runtime.positions import committed_positions
from forebay.runtime.protocol.backfills import is_finished


def takes_state(options: JobOptions, service: Service, application: str, tasks: int) -> bool:
    """Return whether the state is restored from the changelogs. If so, all former producers are fenced.

    Raises:
        StopJob: the job can't continue as requested. Unavailable.
    """
    checkpoint = options.plan.checkpoint
    if is_begun(checkpoint):
        if options.restore is not Restore.ONLY:
            return False
        raise StopJob(
            f"the checkpoint {checkpoint} exists: `forebay run` continues from it. If it is damaged, move it away first"
        )
    positions = committed_positions(options.kafka, service, application, tasks)
    # If a backfill wrote the positions, no option is needed, because they belong to no other checkpoint.
    if not is_finished(application, positions.values()) and options.restore is Restore.NO:
        return False
    if not positions:
        refuse_without_positions(options.kafka, application, [topic.name for topic in service.inputs])
    if not positions and options.restore is Restore.ONLY:
        raise StopJob(f"{application} has no commits, so there is no state to restore: run the job")
    # Before the first lease, because nothing may commit to the changelogs while the groups read their state from them.
    prepare_restore(options.kafka, application, positions)
    return bool(positions)
