"""Reads the progress of a restore, which tasks commit to a separate group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import IsolationLevel
from confluent_kafka.admin import AdminClient

from forebay.catalog import Service
from forebay.console.groups import SECONDS, GroupOffsets
from forebay.kafka.identities import restore_group
from forebay.kafka.partition_ends import Place, partition_ends


@dataclass(frozen=True, slots=True)
class Restoring:
    """The progress in one partition of a changelog: records before `offset` are read, out of those before `end`."""

    topic: str
    partition: int
    offset: int
    end: int


class RestoreReader:
    """Reads the progress of restores.

    A group's offsets may be of an earlier restore. So only a restore whose offsets have moved since the first read is
    returned.
    """

    def __init__(self, groups: GroupOffsets, admin: AdminClient) -> None:
        self._groups = groups
        self._admin = admin
        self._before: dict[str, Mapping[Place, int]] = {}

    def running(self, application: str) -> None:
        """Record that a job runs, so that its next restore is a new one."""
        if self._before.pop(application, None) is not None:
            self._groups.leave(restore_group(application))

    def read(self, service: Service, application: str) -> list[Restoring]:
        """Return the progress of a job that restores its state. Raises Unavailable."""
        topics = [topic.name for topic in service.changelogs(application, 1)]
        committed = self._groups.read(restore_group(application), topics)
        offsets = {(place.topic, place.partition): place.offset for place in committed}
        before = self._before.setdefault(application, offsets)
        moved = {place: offset for place, offset in offsets.items() if before.get(place) != offset}
        ends = (
            partition_ends(self._admin, moved, IsolationLevel.READ_COMMITTED, "changelogs'", SECONDS) if moved else {}
        )
        return [Restoring(*place, offset, max(offset, ends[place])) for place, offset in sorted(moved.items())]
