"""Decode the records of a job's topics in the formats that the job declares."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from confluent_kafka import Message

from forebay.catalog import Service, all_services
from forebay.formats import TEXT, Format, avro, no_contracts
from forebay.job import load_job
from forebay.kafka.codecs import reading_codec
from forebay.kafka.settings import KafkaSettings
from forebay.queries.entries import changed_entry, shown_value
from forebay.queries.key_texts import shown_entry
from forebay.runtime.changelog.sub_topology_log import sub_topology_logs
from forebay.runtime.changelog.topics import changelog_topic, repartition_topic
from forebay.runtime.protocol.snapshot_mark import MARK

log = logging.getLogger(__name__)

Fields = dict[str, Any]
Contents = Callable[[Message], Fields]
"""Returns a record's key and value; for changelogs also windows and times. Raises DecodeError, RegistryUnavailable."""


def known_contents(topic: str, kafka: KafkaSettings) -> Contents | None:
    """Return the function that decodes a topic's records if one of the services declares the topic, else None.

    A service that can't be loaded must not prevent the output of records. The error is logged, and the result is None.
    """
    try:
        return contents_of(topic, all_services().values(), kafka)
    except Exception as error:
        # Loading a service runs code of its user, which may raise anything.
        log.warning(
            "%s is shown without the formats that its service declares, because a service can't be loaded: %s",
            topic,
            error,
        )
        return None


def contents_of(topic: str, services: Iterable[Service], kafka: KafkaSettings) -> Contents | None:
    """Return the function that decodes a topic's records; None if their schemas are sufficient to decode them.

    Args:
        topic: an input, an output, a repartition topic or a store's changelog, under any application id.
        services: the jobs that it may belong to.
    """
    candidates = list(services)
    for service in candidates:
        for declared in (*service.inputs, *service.outputs):
            if declared.name == topic:
                return _of_topic(declared.declared, service, kafka)
    return _of_own_topic(topic, candidates, kafka)


def _of_own_topic(topic: str, services: list[Service], kafka: KafkaSettings) -> Contents | None:
    """Return the function that decodes a changelog or repartition topic; None unless it belongs to exactly one job."""
    readers: dict[str, tuple[str, Callable[[], Contents | None]]] = {}
    for service in services:
        for store in service.stores:
            if (application := _application(topic, changelog_topic("", store))) is not None:
                readers[service.name] = application, partial(_of_changelog, store, application, service, kafka)
        if topic.endswith("-repartition"):
            for name in (name for part in load_job(service.job).topology for name in part.repartitions):
                if (application := _application(topic, repartition_topic("", name))) is not None:
                    readers[service.name] = application, partial(_of_topic, name, service, kafka)
    own = [read for name, (application, read) in readers.items() if application == name]
    possible = own or [read for _, read in readers.values()]
    return possible[0]() if len(possible) == 1 else None


def _application(topic: str, suffix: str) -> str | None:
    return topic.removesuffix(suffix) if topic.endswith(suffix) and topic != suffix else None


def _of_topic(name: str, service: Service, kafka: KafkaSettings) -> Contents | None:
    job = load_job(service.job)
    kind = job.format_of(name) if name in job.formats else job.read_format_of(name)
    if kind.key is TEXT and (kind.value is None or kind.value.is_contract):
        return None
    read_key = _decoding(kind.key, service, kafka)
    read_value = _decoding(kind.value or avro(record_class(service, name)), service, kafka)
    return lambda record: {"key": read_key(record.key()), "value": read_value(record.value())}


def record_class(service: Service, name: str) -> type[Any]:
    """Return the record class of a topic's values."""
    job = load_job(service.job)
    records = [job.outputs, *(part.inputs for part in job.topology), *(part.repartitions for part in job.topology)]
    return next(table[name] for table in records if name in table)


def _decoding(kind: Format[Any], service: Service, kafka: KafkaSettings) -> Callable[[bytes | None], Any]:
    codec = kind.codec(no_contracts if kind is TEXT else lambda record: reading_codec(kafka, service.name, record))
    return lambda data: None if data is None else shown_value(codec.decode(data))


def _of_changelog(name: str, application: str, service: Service, kafka: KafkaSettings) -> Contents | None:
    logs = [
        (log, store)
        for log in sub_topology_logs(service, application, {})
        for store in log.stores
        if store.name == name
    ]
    if not logs:
        return None
    log, store = logs[0]
    rows, topic = log.rows(), log.topics[name]
    prefix = len(rows.form(topic)[0])
    codec = store.format.codec(lambda record: reading_codec(kafka, service.name, record))

    def fields(record: Message) -> Fields:
        if record.key() == MARK:
            return {"key": None, "value": None, "note": "a snapshot was taken here"}
        row, data = rows.row(topic, record.key() or b"", record.value(), record.timestamp()[1])
        return shown_entry(store, changed_entry(store, row[prefix:], data, codec))

    return fields
