"""Failures of a running job: those that end it and those that are retried."""

from __future__ import annotations

from forebay.codec import Unavailable

STOP_MARK = "forebay.stop"


class StopJob(Exception):
    """The job must stop until an operator acts. The message names the remedy.

    The mark in its text identifies the exception after it has passed through Spark as text.
    """

    def __init__(self, message: str) -> None:
        super().__init__(f"[{STOP_MARK}] {message}")


class StateConflict(StopJob):
    """Checkpoint and changelogs contradict each other: one of them is foreign, older, or lost."""


class OffsetsLost(StopJob):
    """Records that the job still needs were deleted from a topic."""


class TopicChanged(StopJob):
    """A topic was recreated, or its number of partitions no longer fits the job's tasks."""


class LeasesEnded(StopJob):
    """Another driver of the application ended a run's leases before they had reached their end offsets."""


class StoreChanged(StopJob):
    """A store declares another format than that of its rows. The message names both and the remedy."""


class FormatChanged(StopJob):
    """Unread records of a repartition topic have another format than the job declares; the message says what to do."""


class TaskTooLarge(StopJob):
    """A task's state outgrew its byte limit."""


class TooManyErrors(StopJob):
    """More of a task's records failed than an operator accepts. The commit that exceeded the limit was not sent."""


class TransactionTooLong(Unavailable):
    """A commit took longer than its transaction may. Only a smaller commit can succeed."""


class StoreUnavailable(Unavailable):
    """The store of snapshots does not answer, or refuses a request. The job continues without new snapshots."""


class GroupFenced(Unavailable):
    """Another worker has taken over the task group. This worker must stop the group's loop."""


class ClientFailed(GroupFenced):
    """A producer or consumer had a fatal error. Its worker ends, as after fencing."""


__all__ = [
    "ClientFailed",
    "FormatChanged",
    "GroupFenced",
    "LeasesEnded",
    "OffsetsLost",
    "StateConflict",
    "StopJob",
    "StoreChanged",
    "StoreUnavailable",
    "TaskTooLarge",
    "TooManyErrors",
    "TopicChanged",
    "TransactionTooLong",
    "Unavailable",
]
