"""Avro's schema resolution: from the writer's schema and ours to a plan for reading."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forebay.records import FrozenMap, fields_of
from forebay.serde.avro_types import (
    NO_DEFAULT,
    Array,
    AvroType,
    DecimalType,
    Enumeration,
    Field,
    Fixed,
    Map,
    Primitive,
    Record,
    Union,
    describe,
)
from forebay.serde.decimals import decimal_reader, readable_as
from forebay.serde.plan import (
    Constant,
    Conversion,
    FromWire,
    ReadArray,
    ReadDecimal,
    ReadEnumeration,
    ReadFixed,
    ReadMap,
    ReadPlan,
    ReadPrimitive,
    ReadRecord,
    ReadUnion,
    Refuse,
)
from forebay.serde.schema import InvalidSchema

_PROMOTIONS: Mapping[tuple[str, str], Conversion] = {
    ("int", "long"): Conversion.NONE,
    ("int", "float"): Conversion.TO_FLOAT,
    ("int", "double"): Conversion.TO_FLOAT,
    ("long", "float"): Conversion.TO_FLOAT,
    ("long", "double"): Conversion.TO_FLOAT,
    ("float", "double"): Conversion.NONE,
}


def resolve(writer: AvroType, reader: AvroType, classes: Mapping[str, type]) -> ReadPlan:
    """Return the plan that reads what `writer` describes as `reader`, records as their `classes` (see bind).

    What does not resolve becomes a Refuse where it stands: in a union, only for the branch concerned.
    Source: Avro specification, Schema Resolution.
    """
    match writer, reader:
        case Union(branches), _:
            return ReadUnion(tuple(resolve(branch, reader, classes) for branch in branches))
        case _, Union(branches):
            return _into_union(writer, branches, classes)
        case Primitive(theirs), Primitive(ours) if theirs == ours:
            return ReadPrimitive(theirs, Conversion.NONE)
        case Primitive("bytes" | "string"), Primitive("bytes" | "string" as ours):
            return ReadPrimitive(ours, Conversion.NONE)
        case Primitive(theirs), Primitive(ours) if (theirs, ours) in _PROMOTIONS:
            return ReadPrimitive(theirs, _PROMOTIONS[theirs, ours])
        case DecimalType(), DecimalType() if readable_as(writer, reader):
            return ReadDecimal(writer, reader.scale)
        case Primitive("bytes"), DecimalType(precision, scale):
            return ReadDecimal(DecimalType(precision, scale), scale)
        case DecimalType(size=None), Primitive("bytes"):
            return ReadPrimitive("bytes", Conversion.NONE)
        case Enumeration(), Enumeration() if _same_name(writer.name, reader.name):
            known = set(reader.symbols)
            # Resolved here, not for each record: the writer's index then leads straight to our symbol.
            return ReadEnumeration(tuple(s if s in known else reader.default for s in writer.symbols))
        case Array(theirs_item), Array(ours_item):
            return ReadArray(resolve(theirs_item, ours_item, classes))
        case Map(theirs_value), Map(ours_value):
            return ReadMap(resolve(theirs_value, ours_value, classes))
        case Record(), Record() if _same_name(writer.name, reader.name, *reader.aliases):
            return _record(writer, reader, classes)
    return Refuse(f"the writer's type {describe(writer)} can't be read as {describe(reader)}")


def _into_union(writer: AvroType, branches: tuple[AvroType, ...], classes: Mapping[str, type]) -> ReadPlan:
    # The specification takes the first branch that matches. Java's Avro, which Kafka's serializers use, looks for the
    # writer's own type first and only then for a promotion (`Resolver.ReaderUnion.firstMatchingBranch`): an int read as
    # [double, int] stays an int.
    exact_first = sorted(branches, key=lambda branch: describe(branch) != describe(writer))
    for branch in exact_first:
        plan = resolve(writer, branch, classes)
        if not isinstance(plan, Refuse):
            return plan
    return Refuse(f"the writer's type {describe(writer)} can't be read as {describe(Union(branches))}")


def _record(writer: Record, reader: Record, classes: Mapping[str, type]) -> ReadPlan:
    # Of names that are equal the last one counts: a field's own name before its aliases, and an earlier alias before a
    # later one.
    by_name = {name: field for field in reader.fields for name in (*reversed(field.aliases), field.name)}
    fields: list[tuple[str, ReadPlan]] = []
    sources: dict[str, FromWire | Constant] = {}
    for index, theirs in enumerate(writer.fields):
        ours = by_name.get(theirs.name)
        # Two fields of the writer may match one of ours, by name and by alias. The first one counts, and the other is
        # skipped.
        if ours is None or ours.name in sources:
            fields.append((theirs.name, skipping(theirs.type)))
        else:
            fields.append((theirs.name, resolve(theirs.type, ours.type, classes)))
            sources[ours.name] = FromWire(index)
    for ours in reader.fields:
        if ours.name not in sources:
            if ours.default is NO_DEFAULT:
                return Refuse(f"the writer's {writer.name} has no field {ours.name}, which is required")
            sources[ours.name] = Constant(_default(ours, classes))
    record_type = classes[reader.name]
    # By the class's order: fields of the class and of the contract have the same names, but may differ in order.
    arguments = tuple(sources[name] for name in fields_of(record_type))
    return ReadRecord(tuple(fields), record_type, arguments)


def skipping(writer: AvroType) -> ReadPlan:
    """Return the plan that reads what `writer` describes and keeps none of its records."""
    match writer:
        case Primitive(name):
            return ReadPrimitive(name, Conversion.NONE)
        case Fixed(size=size):
            return ReadFixed(size)
        case DecimalType(size=size):
            return ReadPrimitive("bytes", Conversion.NONE) if size is None else ReadFixed(size)
        case Enumeration(symbols=symbols):
            return ReadEnumeration(symbols)
        case Array(items):
            return ReadArray(skipping(items))
        case Map(values):
            return ReadMap(skipping(values))
        case Union(branches):
            return ReadUnion(tuple(skipping(branch) for branch in branches))
        case Record(fields=fields):
            return ReadRecord(tuple((field.name, skipping(field.type)) for field in fields), None, ())


def _default(field: Field, classes: Mapping[str, type]) -> Any:
    if field.default is NO_DEFAULT:
        raise InvalidSchema(f"a default in the contract lacks {field.name}, which has none of its own")
    # A union's default is a value of its first branch (Avro specification).
    avro = field.type.branches[0] if isinstance(field.type, Union) else field.type
    return from_json(field.default, avro, classes)


def from_json(value: Any, avro: AvroType, classes: Mapping[str, type]) -> Any:
    """Return a field's default, as a schema's JSON states it, as a value of ours."""
    match avro:
        case Primitive("bytes"):
            # In JSON, Avro states bytes as characters U+0000 to U+00FF.
            return value.encode("latin-1")
        case DecimalType():
            return decimal_reader(avro, avro.scale)(value.encode("latin-1"))
        case Primitive("float" | "double"):
            return float(value)
        case Array(items):
            return tuple(from_json(item, items, classes) for item in value)
        case Map(values):
            return FrozenMap({key: from_json(item, values, classes) for key, item in value.items()})
        case Record(fields=fields):
            arguments = {
                field.name: from_json(value[field.name], field.type, classes)
                if field.name in value
                else _default(field, classes)
                for field in fields
            }
            return classes[avro.name](**arguments)
        case Union(branches):
            return from_json(value, branches[0], classes)
    return value


def _same_name(theirs: str, *ours: str) -> bool:
    """Return whether unqualified names are equal: the specification leaves namespaces out here."""
    return theirs.rpartition(".")[2] in {name.rpartition(".")[2] for name in ours}
