"""The codecs of a task's topics and stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from forebay.codec import Codec
from forebay.formats import Format, key_reader, key_writer


@dataclass(frozen=True, slots=True)
class Codecs:
    """The codecs of one task.

    Args:
        inputs: Codecs by input topic, and by name of each repartition that is read.
        stores: Codecs by store.
        outputs: Codecs by output topic. The first topic is the default.
        repartitions: Codecs by name of the repartitions that are written. If there are any, the first is the default.
        tables: Inputs and repartitions in which a record without a value deletes its key. At equal timestamps, their
            records come first.
        handed: Repartitions that are read. The event time of their records is the Kafka timestamp.
        names: Names of inputs and of repartitions that are read, by topic, if the topic has another name.
        nullable: Inputs whose records may have no key or no value.
        timeless: Inputs whose records do not advance stream time (global tables).
        keys: Formats of keys by input, repartition and output. By default, keys are text.
        read_keys: Formats of keys of inputs that are read in another format than they are written.
        table_outputs: Outputs with a table's rows, so that the last row of a key replaces the earlier ones.
        cached_outputs: Outputs to which a commit sends only the last row of a key, regardless of `emit`.
    """

    inputs: Mapping[str, Codec[Any]]
    stores: Mapping[str, Codec[Any]]
    outputs: Mapping[str, Codec[Any]]
    repartitions: Mapping[str, Codec[Any]] = field(default_factory=dict)
    tables: frozenset[str] = frozenset()
    handed: frozenset[str] = frozenset()
    names: Mapping[str, str] = field(default_factory=dict)
    nullable: frozenset[str] = frozenset()
    timeless: frozenset[str] = frozenset()
    keys: Mapping[str, Format[Any]] = field(default_factory=dict)
    read_keys: Mapping[str, Format[Any]] = field(default_factory=dict)
    table_outputs: frozenset[str] = frozenset()
    cached_outputs: frozenset[str] = frozenset()

    @property
    def handed_topics(self) -> frozenset[str]:
        """The repartition topics that are read."""
        return self.topics_of(self.handed)

    def topics_of(self, inputs: frozenset[str]) -> frozenset[str]:
        """Return the topics of inputs and repartitions, some of which have another name."""
        renamed = {topic: name for topic, name in self.names.items() if name in inputs}
        return inputs.difference(renamed.values()) | renamed.keys()

    @property
    def targets(self) -> Mapping[str, Codec[Any]]:
        """Codecs of the repartitions and outputs to which records can be forwarded, the default first."""
        return {**self.repartitions, **self.outputs}


def key_readers(keys: Mapping[str, Format[Any]]) -> dict[str, Callable[[bytes], str]]:
    """Return the functions from a key's bytes to its row text, by topic, except for keys that are UTF-8."""
    return {name: key_reader(kind) for name, kind in keys.items() if not kind.is_text}


def key_writers(keys: Mapping[str, Format[Any]]) -> dict[str, Callable[[str], bytes]]:
    """Return the functions from a key's row text to its bytes, by topic, except for keys that are UTF-8."""
    return {name: key_writer(kind) for name, kind in keys.items() if not kind.is_text}
