"""Lookup of a store by application and store name, and the decoding of its keys and values."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import types as spark

from forebay.builder.compiled import CompiledSubTopology
from forebay.catalog import Service, UnknownService, all_services, find_service
from forebay.codec import Codec
from forebay.formats import no_contracts
from forebay.kafka.codecs import reading_codec
from forebay.kafka.registry import shared_registry
from forebay.kafka.settings import KafkaSettings
from forebay.queries.key_texts import url_text
from forebay.runtime.changelog.sub_topology_log import SubTopologyLog, sub_topology_logs
from forebay.serde import load_contract
from forebay.serde.generic import GenericDecoder
from forebay.spark.avro_columns import avro_column
from forebay.spark.columns import Column
from forebay.spark.errors import OptionError
from forebay.spark.store_columns import is_avro, key_column, plain_column
from forebay.stores.binding import Store
from forebay.utils.spelling import did_you_mean


@dataclass(frozen=True, slots=True)
class StoreName:
    """The names that identify a store.

    Args:
        application: The job's application id.
        store: Name of the store.
        service: Name of the service that the job runs. If it is empty, it is derived from the other two.
    """

    application: str
    store: str
    service: str = ""


@dataclass(frozen=True, slots=True)
class DeclaredStore:
    """A store as its job declares it.

    Args:
        service: The service that the job runs.
        log: The changelogs of its sub-topology.
        store: The store.
    """

    service: Service
    log: SubTopologyLog
    store: Store[Any]

    @property
    def topic(self) -> str:
        """The store's changelog."""
        return self.log.topics[self.store.name]

    def key(self) -> tuple[spark.DataType, Callable[[str], Any]]:
        """Return the type of the key column, and a function that converts a row's key text to a value of this type."""
        if self.store.key_format is not None:
            # The rows of such a store can also have plain texts as keys, so the column must be a string.
            return spark.StringType(), lambda text: url_text(self.store, text)
        processor = self.log.processor
        if isinstance(processor, CompiledSubTopology):
            return key_column(processor.key_format_of(self.store.name))
        return key_column(None)

    def value(self) -> Column:
        """Return the column of the store's values.

        Raises:
            SchemaNotSupported: Spark can't express the values' contract.
            ContractMissing, InvalidSchema: The service has no valid contract for the values.
        """
        kind = self.store.format
        if is_avro(kind):
            return avro_column(load_contract(self.service.name, kind.type.__name__).text)
        return plain_column(kind)

    def codec(self, kafka: KafkaSettings) -> Codec[Any]:
        """Return a codec that decodes the store's values to values of their column."""
        kind = self.store.format
        decode: Callable[[bytes], Any]
        if is_avro(kind):
            contract = load_contract(self.service.name, kind.type.__name__)
            registry = shared_registry(kafka.registry())
            decode = GenericDecoder(registry, plain=True, reader=json.loads(contract.text)).decode
        else:
            contracts = (lambda record: reading_codec(kafka, self.service.name, record)) if kind.is_contract else None
            decode = kind.codec(contracts or no_contracts).decode
        return _Converting(decode, self.value().convert)


class _Converting:
    """A codec that only decodes, to values of a column."""

    def __init__(self, decode: Callable[[bytes], Any], convert: Callable[[Any], Any] | None) -> None:
        self._decode, self._convert = decode, convert

    def encode(self, record: Any) -> bytes:
        raise NotImplementedError

    def decode(self, data: bytes) -> Any:
        value = self._decode(data)
        return value if value is None or self._convert is None else self._convert(value)


def declared_store(name: StoreName, services: Mapping[str, Service] | None = None) -> DeclaredStore:
    """Return the declaration of a store.

    Args:
        name: Names of the application and the store.
        services: Services by name. The default is the services of the installed packages and of FOREBAY_SERVICES.

    Raises:
        OptionError: There is no such service or store, or the store has no changelog.
    """
    service = _service(name, services)
    logs = sub_topology_logs(service, name.application, {})
    for log in logs:
        for store in log.stores:
            if store.name == name.store:
                return DeclaredStore(service, log, store)
    if name.store.encode() in frozenset().union(*(log.unlogged for log in logs)):
        raise OptionError(
            f"the store {name.store} of {service.name} has no changelog, because its logging is off: "
            "read the topic that it is made from with "
            'option("subscribe", ...)'
        )
    stores = sorted(store.name for log in logs for store in log.stores)
    hint = did_you_mean(name.store, stores) or f": its stores are {', '.join(stores) or 'none'}"
    raise OptionError(f"the service {service.name} has no store {name.store}{hint}")


def _service(name: StoreName, services: Mapping[str, Service] | None) -> Service:
    if name.service:
        try:
            return services[name.service] if services is not None else find_service(name.service)
        except (UnknownService, KeyError) as error:
            raise OptionError(f"option service: {error}") from error
    table = all_services() if services is None else services
    if name.application in table:
        return table[name.application]
    candidates = [service for service in table.values() if name.store in service.stores]
    if len(candidates) == 1:
        return candidates[0]
    which = ", ".join(sorted(service.name for service in candidates))
    reason = f"the services {which} have a store {name.store}" if which else f"no service has a store {name.store}"
    raise OptionError(
        f"no service is named like the application {name.application}{did_you_mean(name.application, table)}, and "
        f'{reason}: name the service that the application runs with option("service", "user-sessions")'
    )
