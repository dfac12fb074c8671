"""The binding of dataclasses to the records of a contract, and the check that they agree."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from forebay.records import FrozenMap, check_record_type, fields_of, is_record_type
from forebay.serde.avro_types import Array, AvroType, DecimalType, Enumeration, Map, Primitive, Record, Union, describe
from forebay.serde.schema import Schema

PYTHON_TYPES: Mapping[str, type] = types.MappingProxyType(
    {
        "null": type(None),
        "boolean": bool,
        "int": int,
        "long": int,
        "float": float,
        "double": float,
        "bytes": bytes,
        "string": str,
    }
)
"""The Python type of each primitive type."""


class ContractMismatch(Exception):
    """A dataclass and its contract differ. The message names the field and both types."""


def bind(record_type: type, schema: Schema) -> Mapping[str, type]:
    """Return the dataclass of each record in `schema`, by the record's full name.

    Raises:
        ContractMismatch: Names or types of fields differ.
        TypeError: The dataclass is not frozen (see check_record_type).
        InvalidSchema: The schema can't be parsed.
    """
    check_record_type(record_type)
    binder = _Binder(schema.name)
    binder.match(record_type, schema.type, record_type.__name__)
    return types.MappingProxyType(binder.classes)


class _Binder:
    def __init__(self, contract: str) -> None:
        self._contract = contract
        self.classes: dict[str, type] = {}

    def match(self, hint: Any, avro: AvroType, path: str) -> None:
        """Check that a type fits its contract, and collect the dataclasses in it."""
        match avro:
            case Primitive(name) if hint is PYTHON_TYPES[name] or (name == "null" and hint is None):
                pass
            case Enumeration() if hint is str:
                pass
            case DecimalType() if hint is Decimal:
                pass
            case Array(items) if typing.get_origin(hint) is tuple and typing.get_args(hint)[1:] == (Ellipsis,):
                self.match(typing.get_args(hint)[0], items, f"{path}[]")
            case Map(values) if typing.get_origin(hint) is FrozenMap and typing.get_args(hint)[0] is str:
                self.match(typing.get_args(hint)[1], values, f"{path}{{}}")
            case Record() if is_record_type(hint):
                self._match_record(hint, avro, path)
            case Union(branches) if typing.get_origin(hint) in (types.UnionType, typing.Union):
                self._match_union(hint, branches, path)
            case _:
                raise self._mismatch(
                    path, f"the dataclass has the type {_text(hint)}, the contract has the type {describe(avro)}"
                )

    def _match_record(self, record_type: type, record: Record, path: str) -> None:
        known = self.classes.setdefault(record.name, record_type)
        if known is not record_type:
            raise self._mismatch(
                path, f"{record.name} is read as {record_type.__name__} here and as {known.__name__} elsewhere"
            )
        hints = typing.get_type_hints(record_type)
        ours = set(fields_of(record_type))
        theirs = {field.name for field in record.fields}
        if ours != theirs:
            raise self._mismatch(path, _difference(record_type, record, ours, theirs))
        for field in record.fields:
            self.match(hints[field.name], field.type, f"{path}.{field.name}")

    def _match_union(self, hint: Any, branches: tuple[AvroType, ...], path: str) -> None:
        left = list(typing.get_args(hint))
        for branch in branches:
            member = next((member for member in left if _stands_for(member, branch)), None)
            if member is None:
                raise self._mismatch(
                    path, f"the contract allows {describe(branch)}, for which {_text(hint)} has no type of its own"
                )
            left.remove(member)
            self.match(member, branch, path)
        if left:
            raise self._mismatch(path, f"the dataclass allows {_text(left[0])}, the contract does not")

    def _mismatch(self, path: str, reason: str) -> ContractMismatch:
        return ContractMismatch(
            f"{path} does not fit the contract {self._contract}: {reason}; change the dataclass or the contract"
        )


def _stands_for(member: Any, avro: AvroType) -> bool:
    match avro:
        case Primitive(name):
            return member is PYTHON_TYPES[name]
        case Enumeration():
            return member is str
        case DecimalType():
            return member is Decimal
        case Array():
            return typing.get_origin(member) is tuple
        case Map():
            return typing.get_origin(member) is FrozenMap
        case Record(name):
            return is_record_type(member) and member.__name__ == name.rpartition(".")[2]
    return False


def _difference(record_type: type, record: Record, ours: set[str], theirs: set[str]) -> str:
    sides = (
        (f"only {record_type.__name__} has", sorted(ours - theirs)),
        (f"only {record.name} has", sorted(theirs - ours)),
    )
    return ", ".join(f"{side} {', '.join(names)}" for side, names in sides if names)


def _text(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)
