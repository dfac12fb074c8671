"""Failures of a running job: those that end it and those that are retried."""

from __future__ import annotations

from forebay.codec import Unavailable

STOP_MARK = "forebay.stop"


class StopJob(Exception):
    """The job must stop until an operator acts; the message says what to do.

    The mark in its text survives the ways an exception takes through Spark.
    """

    def __init__(self, message: str) -> None:
        super().__init__(f"[{STOP_MARK}] {message}")


class StateConflict(StopJob):
    """Checkpoint and changelogs contradict each other: one of them is foreign, older, or lost."""


class OffsetsLost(StopJob):
    """Records the job still needs are gone from the topic."""


class TopicChanged(StopJob):
    """A topic was recreated, or its number of partitions no longer fits the job's tasks."""


class LeasesEnded(StopJob):
    """Another driver of the application ended a run's leases before they had reached their end offsets."""


class StoreChanged(StopJob):
    """A store declares another format than its rows were written in; the message names both and the remedy."""


class TaskTooLarge(StopJob):
    """A task's state outgrew its byte limit."""


class TooManyErrors(StopJob):
    """More of a task's records failed than an operator accepts; what made them too many was not committed."""


class TransactionTooLong(Unavailable):
    """A commit can't be through within its transaction's time: only a smaller one can."""


class StoreUnavailable(Unavailable):
    """The store of snapshots does not answer, or refuses: the job continues without new snapshots."""


class GroupFenced(Unavailable):
    """Another worker has taken over the task group: this one has nothing to say any more."""


class ClientFailed(GroupFenced):
    """A producer or consumer met a fatal error. Its worker ends, as one that was fenced off."""


__all__ = [
    "ClientFailed",
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
