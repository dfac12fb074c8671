"""The fast path for JSON records agrees with the slow path on every value that it handles."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Optional

import pytest

from forebay.codec import DecodeError, EncodeError
from forebay.records import FrozenMap
from forebay.serde.json_format import _read, _RecordCodec

RECORDS = 60
VALUES = 20


def some_type(choices: random.Random, depth: int) -> Any:
    """Return a random type that a field may have."""
    kinds: list[Callable[[], Any]] = [lambda: choices.choice([str, int, float, bool])]
    if depth:
        inner: Any = some_type(choices, depth - 1)
        other: Any = some_type(choices, depth - 1)
        kinds += [
            lambda: Optional[inner],  # noqa: UP045 (`inner | None` is not a type for mypy either)
            lambda: inner | other,
            lambda: tuple[inner, ...],
            lambda: tuple[inner, other],
            lambda: FrozenMap[choices.choice([str, int]), inner],  # type: ignore[misc]
            lambda: some_record(choices, depth - 1),
        ]
    return choices.choice(kinds)()


def some_record(choices: random.Random, depth: int) -> type[Any]:
    """Return a random frozen dataclass."""
    fields = [(name, some_type(choices, depth)) for name in "bca"[: choices.randrange(1, 4)]]
    return dataclasses.make_dataclass("Some", fields, frozen=True)


def some_value(choices: random.Random, hint: Any, *, is_right: bool) -> Any:
    """Return a random value of a type. Unless `is_right`, parts of it may have other types."""
    if not is_right and choices.random() < 0.2:
        return choices.choice([None, "7", 7, 7.5, True, float("inf"), (1, 2), FrozenMap({"z": 1, "a": 2})])
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return hint(*(some_value(choices, field.type, is_right=is_right) for field in dataclasses.fields(hint)))
    arguments: Any = getattr(hint, "__args__", ())
    origin = getattr(hint, "__origin__", None)
    if origin is tuple:
        hints = arguments[:1] * choices.randrange(3) if arguments[-1] is ... else arguments
        return tuple(some_value(choices, item, is_right=is_right) for item in hints)
    if origin is FrozenMap:
        keys = ["2", "10", "b"] if arguments[0] is str else [10, 2]
        return FrozenMap({key: some_value(choices, arguments[1], is_right=is_right) for key in keys})
    if arguments:
        return some_value(choices, choices.choice(arguments), is_right=is_right)
    return {str: "text", int: 5, float: 2.5, bool: True}.get(hint)


def outcome(call: Callable[[Any], Any], value: Any) -> str:
    """Return the text of a call's result, or of the error with which it rejects the value."""
    try:
        return repr(call(value))
    except (DecodeError, EncodeError) as error:
        return str(error)


@pytest.mark.parametrize("seed", range(5))
def test_fast_and_explaining_paths_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    choices = random.Random(seed)
    quick = [0, 0]
    for number in range(RECORDS):
        record = some_record(choices, 2)
        codec, explaining = _RecordCodec(record), _RecordCodec(record)
        monkeypatch.setattr(explaining, "_read", refuse)
        monkeypatch.setattr(explaining, "_is_read_back", lambda _: False)
        for _ in range(VALUES):
            value = some_value(choices, record, is_right=number % 2 == 0)
            assert outcome(codec.canonical, value) == outcome(explaining.canonical, value)
            quick[0] += bool(codec._is_read_back(value))
            with suppress(EncodeError):
                data = codec.encode(value)
                assert outcome(codec.decode, data) == outcome(explaining.decode, data)
                with suppress(Exception):
                    codec._read(_read(data.decode()))
                    quick[1] += 1
    assert min(quick) > RECORDS * VALUES / 10, quick


def refuse(_: Any) -> Any:
    raise ValueError


def test_non_numeric_map_key_is_reported() -> None:
    record = dataclasses.make_dataclass("Counts", [("by_number", FrozenMap[int, int])], frozen=True)
    with pytest.raises(DecodeError, match="by_number has the key 'x', not a number"):
        _RecordCodec(record).decode(b'{"by_number":{"x":1}}')


@dataclasses.dataclass(frozen=True)
class Swapped:
    x: int
    y: int

    def __init__(self, y: int, x: int) -> None:
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", y)


@dataclasses.dataclass(frozen=True)
class Doubled:
    n: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", self.n * 2)


@dataclasses.dataclass(frozen=True)
class Derived:
    x: int
    y: int = dataclasses.field(init=False, default=1)


@dataclasses.dataclass(frozen=True)
class Named:
    _: dataclasses.KW_ONLY
    x: int


def test_class_with_a_custom_constructor_is_supported() -> None:
    assert _RecordCodec(Swapped).decode(b'{"x":1,"y":2}') == Swapped(x=1, y=2)
    assert _RecordCodec(Named).decode(b'{"x":1}') == _RecordCodec(Named).canonical(Named(x=1)) == Named(x=1)


def test_canonical_record_equals_the_decoded_record() -> None:
    assert _RecordCodec(Doubled).canonical(Doubled(1.0)).n == 4.0
    with pytest.raises(EncodeError, match="unexpected keyword"):
        _RecordCodec(Derived).canonical(Derived(1))


def test_record_without_fields_accepts_only_an_object() -> None:
    empty = dataclasses.make_dataclass("Empty", [], frozen=True)
    for data in (b"[]", b'""'):
        with pytest.raises(DecodeError, match="not an object"):
            _RecordCodec(empty).decode(data)


def test_a_whole_number_beyond_all_doubles_is_refused() -> None:
    with pytest.raises(DecodeError, match="too large for a float"):
        _RecordCodec(Doubled).decode(b'{"n":1' + b"0" * 400 + b"}")
