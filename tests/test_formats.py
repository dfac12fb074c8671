"""Formats have the same bytes as Kafka's serializers, and row keys are sorted like the keys."""

from __future__ import annotations

import math
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.codec import DecodeError, EncodeError
from forebay.formats import BOOLEAN, BYTES, DOUBLE, FLOAT, INT, LONG, TEXT, UUID, Format, format_of, no_contracts

LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
INTS = st.integers(-(1 << 31), (1 << 31) - 1)
DOUBLES = st.floats(allow_nan=False)
VALUES: list[tuple[Format[Any], st.SearchStrategy[Any]]] = [
    (TEXT, st.text()),
    (BYTES, st.binary()),
    (INT, INTS),
    (LONG, LONGS),
    (DOUBLE, DOUBLES),
    (FLOAT, st.floats(width=32, allow_nan=False)),
    (BOOLEAN, st.booleans()),
    (UUID, st.uuids()),
]


@pytest.mark.parametrize(("kind", "values"), VALUES, ids=str)
def test_a_value_comes_back_from_its_bytes_and_from_its_row_text(
    kind: Format[Any], values: st.SearchStrategy[Any]
) -> None:
    codec = kind.codec(no_contracts)
    assert kind.row is not None
    assert kind.of_row is not None

    @given(values)
    def check(value: Any) -> None:
        assert codec.decode(codec.encode(value)) == value
        assert kind.of_row(kind.row(value)) == value  # type: ignore[misc]

    check()


@pytest.mark.parametrize(
    ("kind", "values"), [item for item in VALUES if item[0] in (TEXT, BYTES, INT, LONG, DOUBLE)], ids=str
)
def test_rows_sort_as_keys_do(kind: Format[Any], values: st.SearchStrategy[Any]) -> None:
    @given(st.lists(values))
    def check(keys: list[Any]) -> None:
        rows = {kind.row(key).encode(): key for key in keys}  # type: ignore[misc]
        assert [rows[row] for row in sorted(rows)] == sorted(rows.values())
        assert set(rows.values()) == set(keys)

    check()


@pytest.mark.parametrize(
    ("kind", "value", "data"),
    [
        (INT, -2, "fffffffe"),
        (LONG, 258, "0000000000000102"),
        (DOUBLE, 1.5, "3ff8000000000000"),
        (BOOLEAN, True, "01"),
        (TEXT, "é", "c3a9"),
        (UUID, uuid.UUID(int=1), b"00000000-0000-0000-0000-000000000001".hex()),
    ],
    ids=str,
)
def test_bytes_are_those_of_kafkas_own_serializers(kind: Format[Any], value: Any, data: str) -> None:
    assert kind.codec(no_contracts).encode(value).hex() == data


@pytest.mark.parametrize("kind", [DOUBLE, FLOAT], ids=str)
def test_all_that_is_not_a_number_is_one_key(kind: Format[float]) -> None:
    others = [math.nan, -math.nan, math.inf - math.inf, math.copysign(math.nan, -1)]
    assert len({kind.codec(no_contracts).encode(value) for value in others}) == 1
    assert len({kind.row(value) for value in others}) == 1  # type: ignore[misc]
    assert len({kind.row(value) for value in (0.0, -0.0)}) == 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("kind", "data"), [(INT, b"123"), (LONG, b""), (BOOLEAN, b"\x02"), (UUID, b"x"), (TEXT, b"\xff")], ids=str
)
def test_other_bytes_are_refused(kind: Format[Any], data: bytes) -> None:
    with pytest.raises(DecodeError, match=f"{len(data)} bytes are not a valid {kind}"):
        kind.codec(no_contracts).decode(data)


@pytest.mark.parametrize(("kind", "value"), [(INT, 1 << 40), (LONG, True), (TEXT, 5), (DOUBLE, "x")], ids=str)
def test_other_values_are_refused(kind: Format[Any], value: Any) -> None:
    with pytest.raises(EncodeError, match=f"is not a valid {kind}"):
        kind.codec(no_contracts).encode(value)


def test_a_type_without_a_format_is_refused() -> None:
    with pytest.raises(TypeError, match="list has no format: pass a Record"):
        format_of(list)
