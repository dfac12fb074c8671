"""Creation of the codecs of a sub-topology's tasks from the declarations of the job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from forebay.codec import Codec
from forebay.formats import TEXT, avro
from forebay.job import Job, SubTopology, TopicFormat
from forebay.processor.api import AnyProcessor
from forebay.processor.bound_stores import declared_stores
from forebay.processor.codecs import Codecs

Contract = Callable[[str, type[Any]], Codec[Any]]
"""Returns the codec of a record class by its contract, for a topic or store."""


def task_codecs(
    job: Job,
    sub_topology: SubTopology,
    processor: AnyProcessor,
    topic: Contract,
    store: Contract,
    repartition: Contract,
    names: Mapping[str, str] = MappingProxyType({}),
) -> Codecs:
    """Return the codecs of a sub-topology's tasks.

    Args:
        topic, store, repartition: Functions that return the codecs of record classes with a contract.
        names: Names of inputs and repartitions, by topic of their records.
    """

    def codec(kind: TopicFormat, name: str, record: type[Any], contract: Contract) -> Codec[Any]:
        return (kind.value or avro(record)).codec(lambda wanted: contract(name, wanted))

    def value(name: str, record: type[Any], contract: Contract) -> Codec[Any]:
        return codec(job.format_of(name), name, record, contract)

    onward = {
        name: value(name, reader.repartitions[name], repartition)
        for name in sorted(sub_topology.sends)
        for reader in job.topology
        if name in reader.repartitions
    }
    read = {name: value(name, record, repartition) for name, record in sub_topology.repartitions.items()}
    inputs = {
        name: codec(job.read_format_of(name), name, record, topic) for name, record in sub_topology.inputs.items()
    } | read
    outputs = {name: value(name, record, topic) for name, record in job.outputs.items()}
    kinds = {name: job.format_of(name).key for name in (*inputs, *onward, *outputs)}
    read_keys = {name: kind.key for name in sub_topology.inputs if (kind := job.read_formats.get(name)) is not None}
    stores = {
        declared.name: declared.format.codec(lambda record, name=declared.name: store(name, record))
        for _, declared in declared_stores(processor)
    }
    return Codecs(
        inputs=inputs,
        stores=stores,
        outputs=outputs,
        repartitions=onward,
        tables=sub_topology.tables,
        handed=frozenset(sub_topology.repartitions),
        names=names,
        nullable=sub_topology.nullable,
        timeless=sub_topology.global_tables,
        keys={name: kind for name, kind in kinds.items() if kind is not TEXT},
        read_keys=read_keys,
        table_outputs=job.table_outputs,
        cached_outputs=job.cached_outputs,
    )
