"""Check of bytes of a schema whose types contain themselves, before fastavro decodes them.

fastavro reads such values on the C stack. A value of about 10,000 levels would crash the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forebay.codec import DecodeError
from forebay.serde.framing import HEADER_BYTES
from forebay.serde.limits import MAX_NESTING, most_values, unfolds
from forebay.serde.varint import Malformed, read_count, read_integer, read_length, read_varint

_SIZES = {"null": 0, "boolean": 1, "float": 4, "double": 8}


def check_bounds(data: bytes, schema: Any, names: Mapping[str, Any], name: str) -> None:
    """Check that framed bytes are not nested too deeply and do not expand to too many values.

    Args:
        schema: Schema, as parsed by fastavro.
        names: Named types of the schema.
        name: Name of the record, for errors.

    Raises:
        DecodeError: The limits are exceeded, or the bytes are truncated.
    """
    try:
        _Walk(data, names).over(schema, 0)
    except IndexError:
        raise DecodeError(f"{name}: truncated: the {len(data)} bytes end here") from None
    except Malformed as error:
        raise DecodeError(f"{name}: {error}") from None


class _Walk:
    def __init__(self, data: bytes, names: Mapping[str, Any]) -> None:
        self._data = data
        self._names = names
        self._left = most_values(len(data))
        self._position = HEADER_BYTES

    def over(self, schema: Any, depth: int) -> None:
        """Skip one value. Raise Malformed, or IndexError at the end of the bytes."""
        self._left -= 1
        if self._left < 0:
            raise Malformed(unfolds("the value", len(self._data)))
        if depth > MAX_NESTING:
            raise Malformed(f"values are nested more than {MAX_NESTING} levels deep")
        if isinstance(schema, list):
            index, self._position = read_integer(self._data, self._position)
            if not 0 <= index < len(schema):
                raise Malformed(f"the union has {len(schema)} branches, not one with index {index}")
            self.over(schema[index], depth + 1)
        elif isinstance(schema, str):
            self._scalar_or_name(schema, depth)
        else:
            self._compound(schema, depth)

    def _scalar_or_name(self, name: str, depth: int) -> None:
        if name in self._names:
            self._compound(self._names[name], depth)
        elif name in _SIZES:
            self._skip(_SIZES[name])
        elif name in ("string", "bytes"):
            length, self._position = read_length(self._data, self._position)
            self._skip(length)
        else:
            _, self._position = read_varint(self._data, self._position)

    def _compound(self, schema: Mapping[str, Any], depth: int) -> None:
        match schema["type"]:
            case "record" | "error":
                for field in schema["fields"]:
                    self.over(field["type"], depth + 1)
            case "array":
                self._items(schema["items"], depth, has_keys=False)
            case "map":
                self._items(schema["values"], depth, has_keys=True)
            case "fixed":
                self._skip(schema["size"])
            case "enum":
                self._scalar_or_name("int", depth)
            case inner:
                self.over(inner, depth)

    def _items(self, item: Any, depth: int, *, has_keys: bool) -> None:
        while True:
            count, self._position = read_count(self._data, self._position)
            if not count:
                return
            for _ in range(count):
                if has_keys:
                    self._scalar_or_name("string", depth)
                self.over(item, depth + 1)

    def _skip(self, size: int) -> None:
        self._position += size
        if self._position > len(self._data):
            raise IndexError
