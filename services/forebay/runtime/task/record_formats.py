"""Formats of the records of repartition topics. The reader stores them, and each record contains a format's digest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol

from forebay.formats import avro
from forebay.formats.identities import Misread
from forebay.job import Job
from forebay.runtime.changelog.topics import repartition_topic
from forebay.stores.layouts import KEYS, PREFIX, VALUES, Layout, decode_layout, encode_layout, merge_layouts
from forebay.stores.table import Change, Table, prefix_end

_MARK = b":"
"""Stands between topic and digest. Names of topics and stores do not contain it."""


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """The formats of keys and values of a topic's records.

    Args:
        digest: digest of the layout, which records contain; "" if neither format is known.
        others: layouts of unread records of other versions of the program, by digest, as the driver has read them at
            the start.
    """

    topic: str
    layout: Layout
    digest: str
    others: Mapping[str, Layout] = field(default_factory=dict)

    @classmethod
    def of_layout(cls, topic: str, layout: Layout) -> RecordFormat:
        """Return the format of a layout."""
        is_known = any(identity is not None for identity in layout.values())
        return cls(topic, layout, sha256(encode_layout(layout)).hexdigest()[:12] if is_known else "")

    def refusal_of(self, written: Layout) -> str:
        """Return why records of another layout would be misread; "" if they are not."""
        try:
            merge_layouts(written, self.layout)
        except Misread as error:
            return str(error)
        return ""


NO_FORMATS: Mapping[str, RecordFormat] = {}


def record_formats(application: str, job: Job) -> dict[str, RecordFormat]:
    """Return the format of each repartition topic's records, by topic."""
    formats = {}
    for sub_topology in job.topology:
        for name, record in sub_topology.repartitions.items():
            topic, kind = repartition_topic(application, name), job.format_of(name)
            layout = {KEYS: kind.key.identity, VALUES: (kind.value or avro(record)).identity}
            formats[topic] = RecordFormat.of_layout(topic, layout)
    return formats


def digests_of(application: str, job: Job) -> dict[str, str]:
    """Return the digest of the format of each repartition's records, by name of the repartition; "" if unknown."""
    formats = record_formats(application, job)
    names = {name for sub_topology in job.topology for name in sub_topology.repartitions}
    return {name: formats[repartition_topic(application, name)].digest for name in names}


def row_of(topic: str, digest: str) -> bytes:
    """Return the key of the row that records a format of a topic's records."""
    return PREFIX + topic.encode() + _MARK + digest.encode()


def topic_of(row: bytes) -> str:
    """Return the topic of a row that records the format of its records; "" for other rows."""
    name, mark, _ = row.removeprefix(PREFIX).partition(_MARK)
    return name.decode() if mark and row.startswith(PREFIX) else ""


def digest_of(row: bytes) -> str:
    """Return the digest of a row that records a format."""
    return row.rpartition(_MARK)[2].decode()


def recorded_layouts(topic: str, table: Table) -> dict[str, Layout]:
    """Return the layouts of a topic's records that a task's table contains, by digest."""
    prefix = row_of(topic, "")
    return {digest_of(key): decode_layout(value) for key, value in table.scan(prefix, prefix_end(prefix))}


class Partition(Protocol):
    """A partition of a repartition topic."""

    @property
    def kind(self) -> RecordFormat | None:
        """The declared format of its records; None if unknown."""
        ...

    def accept_formats(self, readable: Iterable[str], refused: Mapping[str, str]) -> None:
        """Read records of other formats, or refuse them."""
        ...


class InputFormats:
    """The formats of its repartitions' records that a task has stored, or has to store.

    Args:
        partitions: partitions that the task reads. Their readable and refused formats are set here.
        table: the task's table, as of its last commit.
    """

    def __init__(self, partitions: Iterable[Partition] = (), table: Table | None = None) -> None:
        self.changes: list[Change] = []
        """Rows that are not committed yet. They must be in the first commit under the declared formats, because the
        next version of the program reads the formats of the records from them."""
        digests = []
        for partition in partitions:
            kind = partition.kind
            if kind is None or not kind.digest:
                continue
            recorded = {} if table is None else recorded_layouts(kind.topic, table)
            known = {**recorded, **kind.others, kind.digest: kind.layout}
            reasons = {digest: kind.refusal_of(layout) for digest, layout in known.items()}
            partition.accept_formats(
                [digest for digest, reason in reasons.items() if not reason],
                {digest: reason for digest, reason in reasons.items() if reason},
            )
            self.changes += [
                (row_of(kind.topic, digest), encode_layout(layout))
                for digest, layout in known.items()
                if digest not in recorded
            ]
            digests.append((kind.topic, kind.digest))
        self.digests = tuple(digests)
        """Digests of the declared formats, by topic, which are part of the task's position."""

    def on_commit(self) -> None:
        """Record that the rows are committed."""
        self.changes = []
