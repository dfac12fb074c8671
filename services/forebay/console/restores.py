"""How far tasks have read their changelogs before a job goes on, as they tell a group of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from forebay.console.reports import SECONDS, asking, committed
from forebay.kafka.identities import restore_group

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Restoring:
    """One partition of a changelog that is being read: up to `offset`, of those up to `end`."""

    topic: str
    partition: int
    offset: int
    end: int


class RestoreReader:
    """Reads the progress of restores; one connection serves all jobs.

    What the group says may be of an earlier restore: that one is told only whose offsets moved since `begin`.
    """

    def __init__(self, admin: AdminClient) -> None:
        self._admin = admin
        self._before: dict[str, Mapping[Place, int]] = {}

    def running(self, application: str) -> None:
        """Take it that a job runs: its next restore is another one."""
        self._before.pop(application, None)

    def read(self, application: str) -> list[Restoring]:
        """Return what a job that does not run yet is reading. Raises Unavailable."""
        told = {
            (place.topic, place.partition): place.offset
            for place in committed(self._admin, restore_group(application))
            if place.error is None and place.offset >= 0
        }
        before = self._before.setdefault(application, told)
        moved = {place: offset for place, offset in told.items() if before.get(place) != offset}
        if not moved:
            return []
        ends = self._ends(list(moved))
        return [Restoring(*place, offset, max(offset, ends[place])) for place, offset in sorted(moved.items())]

    def _ends(self, places: list[Place]) -> dict[Place, int]:
        with asking("the ends of the changelogs can't be read"):
            asked = {TopicPartition(*place): OffsetSpec.latest() for place in places}
            answers = self._admin.list_offsets(asked, request_timeout=SECONDS)
            return {(place.topic, place.partition): each.result(SECONDS).offset for place, each in answers.items()}
