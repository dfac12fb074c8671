"""The formats of topics that a job writes, and those that it reads in another format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from forebay.builder.nodes import Kind, Node
from forebay.job import TopicFormat


def written_formats(nodes: Iterable[Node]) -> Mapping[str, TopicFormat]:
    """Return the formats of topics and repartitions whose keys are not text or whose values are not Avro.

    A topic that the job writes has the writer's format, regardless of what a reader in the job declares, because other
    readers rely on it.
    """
    return _formats(nodes)[0]


def read_formats(nodes: Iterable[Node]) -> Mapping[str, TopicFormat]:
    """Return the readers' formats of topics that the job writes in another format."""
    return _formats(nodes)[1]


def _formats(nodes: Iterable[Node]) -> tuple[dict[str, TopicFormat], dict[str, TopicFormat]]:
    declared: dict[Kind, dict[str, Node]] = {kind: {} for kind in Kind}
    for node in nodes:
        declared[node.kind].update(dict.fromkeys(node.topics or (node.name,), node))
    read = declared[Kind.SOURCE]
    written = {**declared[Kind.REPARTITION], **declared[Kind.SINK]}
    others = {
        name: TopicFormat(node.key, node.value)
        for name, node in read.items()
        if name in written and not (node.key.is_same(written[name].key) and node.value.is_same(written[name].value))
    }
    formats = {
        name: TopicFormat(node.key, node.value)
        for name, node in {**read, **written}.items()
        if name in others or not (node.key.is_text and node.value.is_contract)
    }
    return formats, others
