"""What the live loop can't run yet, refused at the start."""

from __future__ import annotations

from forebay.job import Job


class NotRunnable(ValueError):
    """A job that would give wrong results here; the message says what to do."""


def check_runnable(job: Job, tasks: int) -> None:
    """Refuse a job whose global tables several tasks would have in parts.

    Raises:
        NotRunnable: names the topics.
    """
    topics = sorted(topic for part in job.topology for topic in part.global_tables)
    if topics and tasks > 1:
        raise NotRunnable(
            f"{', '.join(topics)}: a task reads its own partitions, so each of {tasks} tasks would have a part of the "
            "global table and find the other rows nowhere: run the job with --tasks 1"
        )
