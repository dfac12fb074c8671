"""Avro's schema resolution, which creates a plan for reading from the writer's schema and the contract."""

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
    """Return the plan that reads bytes of `writer` as values of `reader` (Avro specification, Schema Resolution).

    Types that can't be resolved become a Refuse. In a union, this affects only one branch.

    Args:
        classes: Classes of the records, by full name (see `bind`).
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
            # Resolve symbols here and not for each record, so that the writer's index leads directly to the symbol.
            return ReadEnumeration(tuple(s if s in known else reader.default for s in writer.symbols))
        case Array(theirs_item), Array(ours_item):
            return ReadArray(resolve(theirs_item, ours_item, classes))
        case Map(theirs_value), Map(ours_value):
            return ReadMap(resolve(theirs_value, ours_value, classes))
        case Record(), Record() if _same_name(writer.name, reader.name, *reader.aliases):
            return _record(writer, reader, classes)
    return Refuse(f"the writer's type {describe(writer)} can't be read as {describe(reader)}")


def _into_union(writer: AvroType, branches: tuple[AvroType, ...], classes: Mapping[str, type]) -> ReadPlan:
    # The specification uses the first branch that matches. Java's Avro, which Kafka's serializers use, searches for the
    # writer's own type first and then for a promotion (`Resolver.ReaderUnion.firstMatchingBranch`). An int that is read
    # as [double, int] therefore stays an int.
    exact_first = sorted(branches, key=lambda branch: describe(branch) != describe(writer))
    for branch in exact_first:
        plan = resolve(writer, branch, classes)
        if not isinstance(plan, Refuse):
            return plan
    return Refuse(f"the writer's type {describe(writer)} can't be read as {describe(Union(branches))}")


def _record(writer: Record, reader: Record, classes: Mapping[str, type]) -> ReadPlan:
    # The last of equal names wins. A field's own name has precedence over its aliases, and an earlier alias over a
    # later one.
    by_name = {name: field for field in reader.fields for name in (*reversed(field.aliases), field.name)}
    fields: list[tuple[str, ReadPlan]] = []
    sources: dict[str, FromWire | Constant] = {}
    for index, theirs in enumerate(writer.fields):
        ours = by_name.get(theirs.name)
        # Two fields of the writer may match one field of the reader, by name and by alias. The first one is used, and
        # the other is skipped.
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
    # Use the order of the class. Its fields have the same names as those of the contract, but may be in another order.
    arguments = tuple(sources[name] for name in fields_of(record_type))
    return ReadRecord(tuple(fields), record_type, arguments)


def skipping(writer: AvroType) -> ReadPlan:
    """Return the plan that skips a value of `writer`."""
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
    """Return a default in a schema's JSON as a value."""
    match avro:
        case Primitive("bytes"):
            # In JSON, Avro writes bytes as the characters U+0000 to U+00FF.
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
    """Return whether unqualified names are equal. The specification ignores namespaces here."""
    return theirs.rpartition(".")[2] in {name.rpartition(".")[2] for name in ours}
