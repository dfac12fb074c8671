"""Pickling of a topology, with the functions and records of the script or notebook in which it was written.

Functions and classes of importable modules are pickled by name. Those that exist only in the running program, such as
those of a notebook's cells, are copied by Spark's pickler. This module adds support for three kinds of values: records
of the program, which must be recreated from their fields; functions that functions of this library created, which must
use their module's names and not copies of them; and values that are compared by identity.
"""

from __future__ import annotations

import importlib
import io
import pickle
import sys
import types
import typing
from typing import Any

import msgspec
from pyspark import cloudpickle

from forebay import formats
from forebay.formats import Format

_OWN = frozenset(
    {"__module__", "__qualname__", "__doc__", "__annotations__", "__dict__", "__weakref__", "__match_args__"}
)


def dumps(value: Any) -> bytes:
    """Return a value as bytes. Raise pickle.PicklingError or TypeError if a part of it can't be pickled."""
    file = io.BytesIO()
    pickler: pickle.Pickler = _Pickler(file)  # type: ignore[no-untyped-call]
    pickler.dump(value)
    return file.getvalue()


def loads(data: bytes) -> Any:
    """Return the value of bytes that `dumps` returned. Only load bytes of the same user, because loading runs code."""
    return pickle.loads(data)


class _Pickler(cloudpickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, Format):
            reduced = _reduced_format(value)
        elif isinstance(value, types.FunctionType):
            reduced = _reduced_function(value)
        elif isinstance(value, type) and issubclass(value, msgspec.Struct) and not _is_importable(value):
            reduced = _reduced_record(value)
        elif type(value) is object:
            reduced = _reduced_mark(value)
        else:
            reduced = None
        return super().reducer_override(value) if reduced is None else reduced  # type: ignore[no-untyped-call]


def _is_importable(value: Any) -> bool:
    """Return whether another process can import the value by its module and name."""
    if value.__module__ == "__main__":
        return False
    target: Any = sys.modules.get(value.__module__)
    for name in value.__qualname__.split("."):
        target = getattr(target, name, None)
    return target is value


def _reduced_format(value: Format[Any]) -> Any:
    """Reduce a format that is compared by identity: a constant, or the format of a record class."""
    for name, format_ in vars(formats).items():
        if format_ is value:
            return getattr, (formats, name)
    return (formats.avro, (value.type,)) if formats.avro(value.type) is value else None


def _reduced_mark(value: object) -> Any:
    """Reduce a bare object() that a module of this library compares by identity."""
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith("forebay."):
            for name, mark in vars(module).items():
                if mark is value:
                    return getattr, (module, name)
    return None


def _reduced_function(value: types.FunctionType) -> Any:
    """Reduce a function that a function of this library created. Its cells may contain it, so they are filled later."""
    if not value.__module__.startswith("forebay.") or _is_importable(value):
        return None
    cells = tuple(_content(cell) for cell in value.__closure__ or ())
    arguments = (value.__module__, value.__code__, value.__name__, len(cells))
    state = (cells, value.__defaults__, value.__kwdefaults__, value.__qualname__, value.__dict__)
    return _make_function, arguments, state, None, None, _fill_function


def _content(cell: types.CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:  # the cell is empty
        return ()


def _make_function(module: str, code: types.CodeType, name: str, cells: int) -> types.FunctionType:
    names = vars(importlib.import_module(module))
    return types.FunctionType(code, names, name, None, tuple(types.CellType() for _ in range(cells)))


def _fill_function(made: types.FunctionType, state: tuple[Any, ...]) -> None:
    cells, made.__defaults__, made.__kwdefaults__, made.__qualname__, attributes = state
    made.__dict__.update(attributes)
    for cell, content in zip(made.__closure__ or (), cells, strict=True):
        if content:
            (cell.cell_contents,) = content


def _reduced_record(value: type[msgspec.Struct]) -> Any:
    """Reduce a class of records by its own fields. Its methods may refer to it, so they are added later."""
    fields = {field.name: field for field in msgspec.structs.fields(value)}
    hints = typing.get_type_hints(value, include_extras=True)
    own = [name for name in vars(value).get("__annotations__", {}) if name in fields]
    defined = tuple((name, hints[name], *_default(fields[name])) for name in own)
    more = {
        name: attribute
        for name, attribute in vars(value).items()
        if name not in _OWN and not _is_given(name, attribute, fields)
    }
    arguments = (value.__name__, value.__module__, value.__bases__, defined)
    return _make_record, arguments, more, None, None, _fill_record


def _default(field: msgspec.structs.FieldInfo) -> tuple[Any, ...]:
    if field.default_factory is not msgspec.NODEFAULT:
        return (msgspec.field(default_factory=field.default_factory),)
    return () if field.default is msgspec.NODEFAULT else (field.default,)


def _is_given(name: str, value: Any, fields: dict[str, Any]) -> bool:
    """Return whether msgspec adds this attribute to a class."""
    return name in fields or name.startswith("__struct_") or isinstance(value, types.MemberDescriptorType)


def _make_record(name: str, module: str, bases: tuple[type, ...], fields: tuple[Any, ...]) -> type[msgspec.Struct]:
    return msgspec.defstruct(name, fields, bases=bases, module=module)


def _fill_record(made: type[msgspec.Struct], more: dict[str, Any]) -> None:
    for name, value in more.items():
        setattr(made, name, value)
