"""Forecasts the conversion of a job's stores from its changelogs, and the settings that their topics need."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from forebay.catalog import COMPACTION_LAG, Service
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.tail import Beginning, Tail
from forebay.runtime.changelog.sub_topology_log import sub_topology_logs
from forebay.runtime.changelog.topics import ChangelogRows
from forebay.stores.binding import RowValue, Store, TaskStores
from forebay.stores.kinds import PREFIX, Kinds, OnChange
from forebay.stores.layouts import DeclarationChanged, KeyFormatOf, key_formats_of, refusal_of
from forebay.stores.memory import MemoryTable
from forebay.stores.rows import Journal
from forebay.stores.upgrade import describe_store, row_value_of
from forebay.stores.versioned import VersionedKeyValueStore

LAG_BUFFER_MS = 86_400_000
"""Time added to the history retention, as in Kafka Streams: how far a restore may lag behind."""

_LATEST = b"\x01latest\0"


@dataclass(frozen=True, slots=True)
class Forecast:
    """The forecast for one store of one task.

    Args:
        task: `<application>-<sub-topology>-<task>`.
        rows: the store's rows.
        recorded: the declaration that wrote them; "" if none is recorded.
        outcome: the result of a conversion, or the reason why it is impossible.
        refused: whether no conversion between the two declarations exists.
    """

    task: str
    store: str
    rows: int
    recorded: str
    declared: str
    outcome: str
    refused: bool = False

    def __str__(self) -> str:
        recorded = self.recorded or "nothing"
        head = f"{self.task}: store {self.store}: {self.rows} rows, recorded {recorded}, declared {self.declared}"
        return f"{head}: {self.outcome}"


@dataclass(frozen=True, slots=True)
class TopicChange:
    """A setting of a changelog topic that must be larger."""

    topic: str
    setting: str
    existing: str
    needed: str


@dataclass(frozen=True, slots=True)
class _Raw:
    """A value as bytes, because a forecast needs no contract."""

    data: bytes


class _RawCodec:
    is_frozen = True

    def encode(self, record: _Raw) -> bytes:
        return record.data

    def decode(self, data: bytes) -> _Raw:
        return _Raw(data)


class _NoClock:
    closing_time = 0


_Row = tuple[bytes, int]
"""A changelog record's value and timestamp (ms)."""


def forecast(kafka: KafkaSettings, service: Service, application: str, logic: Mapping[str, Any]) -> list[Forecast]:
    """Return the forecast for each store of each task. Reads committed records and changes nothing."""
    forecasts: list[Forecast] = []
    for sub_topology, log in enumerate(sub_topology_logs(service, application, logic)):
        internal = _read(kafka, log.internal)
        own = {store: _read(kafka, topic) for store, topic in log.topics.items()}
        keys = key_formats_of(log.processor)
        for task in sorted(set(internal).union(*own.values())):
            name = f"{application}-{sub_topology}-{task}"
            rows = {store: partitions.get(task, {}) for store, partitions in own.items()}
            forecasts.extend(forecast_task(name, log.stores, internal.get(task, {}), rows, keys))
    return forecasts


def needed_settings(
    kafka: KafkaSettings, service: Service, application: str, logic: Mapping[str, Any]
) -> list[TopicChange]:
    """Return the settings that changelogs of versioned stores need, so that no version in the history is compacted."""
    lags = {
        log.topics[store.name]: store.history_retention_ms + LAG_BUFFER_MS
        for log in sub_topology_logs(service, application, logic)
        for store in log.stores
        if isinstance(store, VersionedKeyValueStore)
    }
    return [
        TopicChange(name, COMPACTION_LAG, topic.config.get(COMPACTION_LAG, "0"), str(lags[name]))
        for name, topic in TopicAdmin(kafka).describe(lags).items()
        if int(topic.config.get(COMPACTION_LAG, "0")) < lags[name]
    ]


def _read(kafka: KafkaSettings, topic: str) -> dict[int, dict[bytes, _Row]]:
    """Return the final rows of a changelog, by partition; empty if it does not exist."""
    if not TopicAdmin(kafka).describe([topic]):
        return {}
    rows_by_task: dict[int, dict[bytes, _Row]] = {}
    with Tail(kafka, topic) as tail:
        for message in tail.read(Beginning(), follow=False):
            key, value = message.key() or b"", message.value()
            rows = rows_by_task.setdefault(message.partition() or 0, {})
            if value is None:
                rows.pop(key, None)
            else:
                rows[key] = (value, message.timestamp()[1])
    return rows_by_task


def forecast_task(
    name: str,
    stores: Iterable[Store[Any]],
    internal: Mapping[bytes, _Row],
    own: Mapping[str, Mapping[bytes, _Row]],
    key_format_of: KeyFormatOf = key_formats_of(None),  # noqa: B008
) -> Iterator[Forecast]:
    """Yield the forecasts for a task's stores.

    Args:
        name: name of the task.
        internal: final rows of its partition of the internal changelog.
        own: final rows of its partitions of the stores' changelogs, by store.
        key_format_of: returns the formats of keys.
    """
    table = MemoryTable()
    table.apply([(key, value) for key, (value, _) in internal.items()], b"")
    for store in stores:
        recorded = (table.get(PREFIX + store.name.encode()) or b"").decode()
        _fill(table, store.name, row_value_of(recorded or describe_store(store)), own[store.name])
        rows = sum(1 for _ in table.scan(store.name.encode() + b"\0", store.name.encode() + b"\1"))
        refused, outcome = _outcome(table, store, recorded, rows, key_format_of)
        yield Forecast(name, store.name, rows, recorded, describe_store(store), outcome, refused)


def _fill(table: MemoryTable, store: str, kind: RowValue, rows: Mapping[bytes, _Row]) -> None:
    prefix, changelog = store.encode() + b"\0", ChangelogRows({store: store}, "", {store: kind})
    table.apply([changelog.row(store, key, *record) for key, record in rows.items()], b"")
    if kind is RowValue.HELD:
        latest = _LATEST + prefix
        ends = [prefix + key[len(latest) :] + value for key, value in table.scan(latest, latest[:-1] + b"\1")]
        table.apply([(row, b"") for row in ends if table.get(row) is None], b"")


def _outcome(
    table: MemoryTable, store: Store[Any], recorded: str, rows: int, key_format_of: KeyFormatOf
) -> tuple[bool, str]:
    refusal = refusal_of(table, store, key_format_of)
    if refusal:
        # A start compares the formats first, and no conversion changes them.
        return True, f"the store {refusal}: declare it as it was, give the new store another name, or reset"
    if recorded == describe_store(store):
        return False, "nothing to do"
    if not recorded:
        counted = "its rows are assumed to have the declared format" if rows else "the store is new"
        return False, f"nothing to do: {counted}. The format is recorded with its next change"
    raw = copy.copy(store)
    raw.value = _Raw
    lent = TaskStores(table, Journal(), _NoClock())
    kinds = Kinds("", [raw.bind(lent, _RawCodec())], lent, {store.name: _RawCodec()}, OnChange.CONVERT, key_format_of)
    try:
        kinds.load(table, 0)
    except DeclarationChanged:
        return (
            True,
            "there is no conversion between the two: declare it as it was, give the new store another name, or reset",
        )
    (done,) = kinds.conversions
    return False, f"{done.read} rows would be read, {done.remaining} written or kept, {done.dropped} dropped"
