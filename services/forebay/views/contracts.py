"""Contracts of views' records, which are generated from the record classes so that they always match."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from forebay.builder.compiled import CompiledSubTopology
from forebay.builder.nodes import Kind
from forebay.job import Job
from forebay.records import fields_of
from forebay.views.totals import DoubleTotal, LongTotal

_PRIMITIVES: Mapping[type, str] = types.MappingProxyType({str: "string", int: "long", float: "double", bool: "boolean"})
_TOTALS: Mapping[type, tuple[str, Mapping[str, str]]] = types.MappingProxyType(
    {
        DoubleTotal: (
            "Doubles added up.",
            {"count": "How many.", "sum": "Numbers that make up their exact sum, largest first."},
        ),
        LongTotal: ("Whole numbers added up.", {"count": "How many.", "sum": "Their sum."}),
    }
)


def contracts_of(job: Job, namespace: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of each contract of a views job except the source's: rows, stores, repartition topics.

    The fields of stored rows have no defaults. A view with a new column can't use rows without it, so the registry must
    refuse the new schema.
    """
    for sub_topology in _sub_topologies(job):
        for node in sub_topology.nodes:
            for store in node.stores:
                doc = f"A row of the view and the totals behind it. Store {store.name}, keyed by group."
                yield _contract(store.value, namespace, doc, defaults=False)
            if node.kind is Kind.SINK:
                doc = f"A row of the view {node.name}. Topic {node.name}, compacted, keyed by group."
                yield _contract(node.value.type, namespace, doc)
            elif node.kind is Kind.REPARTITION:
                yield _contract(node.value.type, namespace, f"What crosses the repartition {node.name}.")


def _sub_topologies(job: Job) -> list[CompiledSubTopology]:
    processors = [sub_topology.processor(job.settings()) for sub_topology in job.topology]
    return [sub_topology for sub_topology in processors if isinstance(sub_topology, CompiledSubTopology)]


def _contract(record: type[Any], namespace: str, doc: str, *, defaults: bool = True) -> tuple[str, str]:
    named: set[str] = set()
    schema = {
        "type": "record",
        "name": record.__name__,
        "namespace": namespace,
        "doc": f"{doc} Made by `forebay views`.",
    }
    columns = [_field(name, hint, named) for name, hint in typing.get_type_hints(record).items()]
    if not defaults:
        columns = [{key: value for key, value in field.items() if key != "default"} for field in columns]
    fields = ",\n    ".join(map(json.dumps, columns))
    head = json.dumps(schema, indent=2).removesuffix("\n}")
    return record.__name__, f'{head},\n  "fields": [\n    {fields}\n  ]\n}}\n'


def _field(name: str, hint: Any, named: set[str]) -> dict[str, Any]:
    members = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    kind = members[0]
    if kind in _PRIMITIVES:
        if len(members) > 1:
            doc = f"The column {name}; null where there is no value."
            return {"name": name, "type": ["null", _PRIMITIVES[kind]], "default": None, "doc": doc}
        doc = "Event time, milliseconds since the epoch." if name == "timestamp" else f"The column {name}."
        return {"name": name, "type": _PRIMITIVES[kind], "doc": doc}
    doc = f"What {name.removesuffix('_total')} is computed from."
    return {"name": name, "type": _total(kind, named), "doc": doc}


def _total(total: type[Any], named: set[str]) -> Any:
    if total.__name__ in named:
        return total.__name__
    named.add(total.__name__)
    doc, docs = _TOTALS[total]
    hints = typing.get_type_hints(total)
    return {
        "type": "record",
        "name": total.__name__,
        "doc": doc,
        "fields": [{"name": name, "type": _plain(hints[name]), "doc": docs[name]} for name in fields_of(total)],
    }


def _plain(hint: Any) -> Any:
    return {"type": "array", "items": "double"} if typing.get_origin(hint) is tuple else _PRIMITIVES[hint]
