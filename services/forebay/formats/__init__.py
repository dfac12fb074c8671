"""Formats of keys and values: their encoding as bytes, and that of keys as row texts, by which rows are sorted.

The bytes are those of Kafka's serializers (`org.apache.kafka.common.serialization`), so that clients in other languages
can read them. Row texts sort like the keys.
"""

from __future__ import annotations

import dataclasses
import math
import struct
import uuid
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast

from forebay.codec import Codec, DecodeError, EncodeError
from forebay.formats.identities import Identity, by_name
from forebay.formats.record_shapes import shape_of
from forebay.formats.row_texts import double_row, of_double_row, whole_rows
from forebay.records import is_record_type

T = TypeVar("T")


class Contracts(Protocol):
    """Function that returns the codec of a record class that has a contract."""

    def __call__(self, record: type[Any], /) -> Codec[Any]:
        """Return the codec of a record class by the contract of its name."""
        ...


@dataclass(frozen=True, eq=False)
class Format(Generic[T]):
    """How values of one type are encoded as bytes and, if they are keys, as row text.

    Args:
        name: Name in messages.
        type: Class of the values.
        codec: Function that returns the codec, from a function that returns the codecs of contracts.
        row: Function from a key to its row text, which sorts like the keys. None: the format is not for keys.
        of_row: Function from a row text to the key.
        is_contract: Whether topics of this format need a contract in a registry.
        owner: Function from a row text to the key whose hash determines the task of the row. None: the row's own key.
        layout: Names and types of the columns, if values are encoded by position and not by name. A store records the
            layout with its rows.
        wire: Identifies the encoding to other formats. None: no other format has the same encoding.
        takes: Function that returns whether this format reads bytes of another format, from its `wire`. None: it reads
            only its own bytes.
        identify: Function that returns the identity of the encoding, which stores record
            (`forebay.formats.identities`). None: the identity is the name.
        hashed: Format of the same keys, if a custom partitioner has distributed the keys of this one. Its name differs,
            so that streams that are distributed differently are not joined.
    """

    name: str
    type: type[T]
    codec: Callable[[Contracts], Codec[T]]
    row: Callable[[T], str] | None = None
    of_row: Callable[[str], T] | None = None
    is_contract: bool = False
    owner: Callable[[str], str | bytes] | None = None
    layout: tuple[str, ...] = ()
    wire: Hashable = None
    takes: Callable[[Any], bool] | None = None
    identify: Callable[[], Identity] | None = None
    hashed: Format[T] | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def identity(self) -> Identity:
        """Identity of the encoding as a JSON value, which stores record. None: it is not known."""
        return f"format {self.name}" if self.identify is None else self.identify()

    @property
    def is_text(self) -> bool:
        """Whether the row text of a key is the key itself."""
        return self is TEXT

    def is_same(self, other: Format[Any]) -> bool:
        """Return whether both formats are known to write the same bytes."""
        return self.codec is other.codec or (self.name, self.type) == (other.name, other.type)

    def reads(self, written: Format[Any]) -> bool:
        """Return whether this format can read the bytes that another format wrote."""
        return self.is_same(written) or (self.takes is not None and self.takes(written.wire))

    def by_hash(self) -> Format[T]:
        """Return the format after a repartition by the hash of the key, which alone determines the task of a row."""
        key = self.hashed or self
        return key if key.owner is None else dataclasses.replace(key, owner=None)


class _Simple(Generic[T]):
    """A codec of two functions. Any error that they raise is blamed on the value."""

    def __init__(self, what: str, encode: Callable[[T], bytes], decode: Callable[[bytes], T]) -> None:
        self._what = what
        self._encode = encode
        self._decode = decode

    def encode(self, record: T) -> bytes:
        try:
            return self._encode(record)
        except Exception as error:
            raise EncodeError(f"{record!r} is not a valid {self._what}: {error}") from error

    def decode(self, data: bytes) -> T:
        try:
            return self._decode(data)
        except Exception as error:
            raise DecodeError(f"{len(data)} bytes are not a valid {self._what}: {error}") from error


class _Scalar(_Simple[T]):
    """A codec of immutable values that are read back unchanged."""

    is_frozen = True


def simple(
    name: str,
    kind: type[T],
    encode: Callable[[T], bytes],
    decode: Callable[[bytes], T],
    row: Callable[[T], str] | None = None,
    of_row: Callable[[str], T] | None = None,
    identity: str = "",
) -> Format[T]:
    """Return a format that needs no contract. Without `row` and `of_row`, keys sort by their bytes.

    A store encodes the values at each put and decodes them at each get, because they may be mutable. It records the
    `identity` (by default, `format NAME`), and refuses rows with another identity at the start.
    """
    return _of_codec(_Simple(name, encode, decode), name, kind, row, of_row, identity or f"format {name}")


def _scalar(
    name: str,
    kind: type[T],
    encode: Callable[[T], bytes],
    decode: Callable[[bytes], T],
    row: Callable[[T], str] | None = None,
    of_row: Callable[[str], T] | None = None,
) -> Format[T]:
    return _of_codec(_Scalar(name, encode, decode), name, kind, row, of_row, name)


def _of_codec(
    codec: Codec[T],
    name: str,
    kind: type[T],
    row: Callable[[T], str] | None,
    of_row: Callable[[str], T] | None,
    identity: str,
) -> Format[T]:
    if row is None or of_row is None:
        row, of_row = bytes_rows(codec)
    return Format(name, kind, lambda _: codec, row, of_row, identify=lambda: identity)


def bytes_rows(codec: Codec[T]) -> tuple[Callable[[T], str], Callable[[str], T]]:
    """Return the functions from a key to its row text and back, for keys that sort by their bytes."""
    return lambda key: codec.encode(key).decode("latin-1"), lambda text: codec.decode(text.encode("latin-1"))


def _packed_format(
    name: str, kind: type[T], layout: str, row: Callable[[T], str], of_row: Callable[[str], T]
) -> Format[T]:
    pack = struct.Struct(layout)

    def encode(value: T) -> bytes:
        if kind is int and value.__class__ is bool:
            raise TypeError("a boolean is not accepted as a number")
        # NaN has several encodings. On x86, inf - inf has a sign bit. Java's serializers always write the same NaN.
        return pack.pack(value if value == value else math.nan)  # noqa: PLR0124

    # A single-precision number may differ from the double that logic computed, so it is not read back unchanged.
    codec = _Simple if layout == ">f" else _Scalar
    return _of_codec(codec(name, encode, lambda data: cast(T, pack.unpack(data)[0])), name, kind, row, of_row, name)


def _boolean(data: bytes) -> bool:
    if data not in (b"\0", b"\x01"):
        raise ValueError("neither 0 nor 1")
    return data == b"\x01"


def _same(value: T) -> T:
    return value


TEXT_WIRE, JSON_WIRE, MARKUP_WIRE = "UTF-8 text", "JSON", "XML or CSV"
TEXT: Format[str] = dataclasses.replace(
    _scalar("text", str, str.encode, bytes.decode, _same, _same),
    wire=TEXT_WIRE,
    takes=lambda wire: wire in (TEXT_WIRE, JSON_WIRE, MARKUP_WIRE),
)
BYTES: Format[bytes] = dataclasses.replace(_scalar("bytes", bytes, bytes, _same), takes=lambda _: True)
INT: Format[int] = _packed_format("int", int, ">i", *whole_rows(32))
LONG: Format[int] = _packed_format("long", int, ">q", *whole_rows(64))
DOUBLE: Format[float] = _packed_format("double", float, ">d", double_row, of_double_row)
FLOAT: Format[float] = _packed_format("float", float, ">f", double_row, of_double_row)
BOOLEAN: Format[bool] = _scalar("boolean", bool, lambda value: b"\x01" if value else b"\0", _boolean)
UUID: Format[uuid.UUID] = _scalar(
    "uuid", uuid.UUID, lambda value: str(value).encode(), lambda data: uuid.UUID(data.decode("ascii"))
)

_OF_TYPE: dict[type[Any], Format[Any]] = {
    str: TEXT,
    bytes: BYTES,
    int: LONG,
    float: DOUBLE,
    bool: BOOLEAN,
    uuid.UUID: UUID,
}
_AVRO: dict[type[Any], Format[Any]] = {}


def avro(record: type[T]) -> Format[T]:
    """Return the format of a record class: Avro in Confluent's wire format, with the contract that has its name."""
    known = _AVRO.get(record)
    if known is None:
        known = Format(
            f"Avro {record.__name__}",
            record,
            lambda contracts: contracts(record),
            is_contract=True,
            identify=lambda: by_name("AVRO", shape_of(record)),
        )
        _AVRO[record] = known
    return known


def format_of(spec: type[T] | Format[T]) -> Format[T]:
    """Return the format of a type: Avro for records, and Kafka's formats for text, bytes, numbers and UUIDs.

    Raises:
        TypeError: The type has no format.
    """
    if isinstance(spec, Format):
        return spec
    known = _OF_TYPE.get(spec)
    if known is not None:
        return known
    if is_record_type(spec):
        return avro(spec)
    name = getattr(spec, "__name__", repr(spec))
    raise TypeError(f"{name} has no format: pass a Record, a scalar type, or a Format")


def contract_of(kind: Format[Any]) -> str:
    """Return the name of the contract that a format uses, or "" if it uses none."""
    asked: list[str] = []

    def note(record: type[Any], /) -> Codec[Any]:
        asked.append(record.__name__)
        return BYTES.codec(no_contracts)

    kind.codec(note)
    return asked[0] if asked else ""


def key_reader(kind: Format[T]) -> Callable[[bytes], str]:
    """Return a function from a key's bytes to its row text. Raise TypeError if keys can't have the format."""
    row = kind.row
    if row is None:
        raise _no_key(kind)
    decode = kind.codec(no_contracts).decode
    return lambda data: row(decode(data))


def key_writer(kind: Format[T]) -> Callable[[str], bytes]:
    """Return a function from a key's row text to its bytes. Raise TypeError if keys can't have the format."""
    of_row = kind.of_row
    if of_row is None:
        raise _no_key(kind)
    encode = kind.codec(no_contracts).encode
    return lambda text: encode(of_row(text))


def _no_key(kind: Format[Any]) -> TypeError:
    # A key's bytes choose its partition, so two encodings of one value would send its records to two tasks.
    return TypeError(
        f"{kind} can't be used for keys, because equal values may have different "
        "bytes: pass a format that always writes a value as the same bytes"
    )


def no_contracts(record: type[Any], /) -> Codec[Any]:
    """Raise TypeError, because the format of a key can't have a contract."""
    raise TypeError(f"{record.__name__} has a contract: it can't be a key's format")


def owner_of(kind: Format[Any]) -> Callable[[str], str | bytes]:
    """Return the function from a row text to the encoded key whose hash determines the task of the row."""
    if kind.owner is not None:
        return kind.owner
    return _same if kind.is_text else key_writer(kind)
