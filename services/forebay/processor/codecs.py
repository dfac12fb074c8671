"""The codecs of one task: what is on its topics and in its stores."""

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
        inputs: by topic, and by name of each repartition that is read.
        stores: by name.
        outputs: by topic; the first is the default.
        repartitions: of what is forwarded to other sub-topologies, by name; the first is the default if there is one.
        tables: inputs and repartitions in which a record without value deletes its key; theirs come first.
        handed: repartitions that are read: their records' event time is the Kafka timestamp.
        names: of inputs and of the repartitions that are read, by topic, if the topic has another name.
        nullable: inputs whose records may have neither key nor value.
        timeless: inputs whose records move no time: global tables.
        keys: formats of keys by input, repartition and output; text unless named.
        read_keys: those of inputs that are read in another format than they are written in.
        table_outputs: outputs that hold a table's rows, so that the last row of a key replaces those before.
        cached_outputs: those that get only the last row of a key, regardless of `emit`.
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
        """The topics that can be forwarded to, the default first."""
        return {**self.repartitions, **self.outputs}


def key_readers(keys: Mapping[str, Format[Any]]) -> dict[str, Callable[[bytes], str]]:
    """Return what makes a key's row text of its bytes, by topic; of keys that are UTF-8, nothing."""
    return {name: key_reader(kind) for name, kind in keys.items() if not kind.is_text}


def key_writers(keys: Mapping[str, Format[Any]]) -> dict[str, Callable[[str], bytes]]:
    """Return what makes a key's bytes of its row text, by topic; of keys that are UTF-8, nothing."""
    return {name: key_writer(kind) for name, kind in keys.items() if not kind.is_text}
