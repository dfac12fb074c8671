"""The kinds of functions: their parameters, and their default result types."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from forebay.ksml.types import ANY, BOOLEAN, LONG, NULL, STRING, Type


class Kind(NamedTuple):
    """A kind of functions.

    Args:
        parameters: names of positional parameters.
        result: type of the result if the function does not declare one.
        stores: whether it may use state stores.
    """

    parameters: tuple[str, ...]
    result: Type = ANY
    stores: bool = False


_RECORD = ("key", "value")

FUNCTIONS: Mapping[str, Kind] = MappingProxyType(
    {
        "aggregator": Kind((*_RECORD, "aggregatedValue")),
        "forEach": Kind(_RECORD, NULL, stores=True),
        "foreignKeyExtractor": Kind(("value",)),
        "generator": Kind(()),
        "generic": Kind(()),
        "initializer": Kind(()),
        "keyTransformer": Kind(_RECORD, stores=True),
        "keyValueMapper": Kind(_RECORD),
        "keyValuePrinter": Kind(_RECORD, STRING),
        "keyValueToKeyValueListTransformer": Kind(_RECORD, stores=True),
        "keyValueToValueListTransformer": Kind(_RECORD, stores=True),
        "keyValueTransformer": Kind(_RECORD, stores=True),
        "merger": Kind(("key", "value1", "value2")),
        "metadataTransformer": Kind((*_RECORD, "metadata"), Type("struct"), stores=True),
        "predicate": Kind(_RECORD, BOOLEAN, stores=True),
        "reducer": Kind(("value1", "value2")),
        "streamPartitioner": Kind(("topic", "key", "value", "numPartitions")),
        "timestampExtractor": Kind(("record", "previousTimestamp"), LONG),
        "topicNameExtractor": Kind((*_RECORD, "recordContext"), STRING),
        "valueJoiner": Kind(("key", "value1", "value2")),
        "valueTransformer": Kind(_RECORD, stores=True),
    }
)
