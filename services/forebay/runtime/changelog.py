"""Changelog topics: which rows of a task's table go where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from forebay.stores.table import Change

INTERNAL = b"\x01"


class ChangelogRouter:
    """Sends each changed row to its store's changelog, at the task's own partition.

    A store's row goes to `<application>-<store>-changelog` under its key; timers and event ids go to
    `<application>-<stage>-task` under their row keys. The values are those of the block log, byte for byte.

    Args:
        topics: changelog topic by store name; a store that is missing keeps no changelog.
        internal: topic of the task's own rows.
        partition: the task's number.
    """

    def __init__(self, topics: dict[str, str], internal: str, partition: int) -> None:
        self._topics = {name.encode(): topic for name, topic in topics.items()}
        self._internal = internal
        self.partition = partition

    def route(self, changes: Sequence[Change]) -> Iterator[tuple[str, bytes, bytes | None]]:
        """Give (topic, key, value) of every change that is logged, in order."""
        topics, internal = self._topics, self._internal
        for key, value in changes:
            if key.startswith(INTERNAL):
                yield internal, key, value
                continue
            store, _, row = key.partition(b"\0")
            topic = topics.get(store)
            if topic is not None:
                yield topic, row, value


def changelog_topic(application: str, store: str) -> str:
    """Give the name of a store's changelog topic."""
    return f"{application}-{store}-changelog"


def internal_topic(application: str, stage: int) -> str:
    """Give the name of a stage's internal changelog topic."""
    return f"{application}-{stage}-task"


def changelog_topics(application: str, stores: Iterable[str]) -> dict[str, str]:
    """Give the changelog topic of each store."""
    return {store: changelog_topic(application, store) for store in stores}
