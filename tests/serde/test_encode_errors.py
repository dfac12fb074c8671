"""Records that don't fit their contract are rejected, and the error names the field."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.codec import EncodeError
from forebay.records import FrozenMap
from tests.serde.everything import CONTRACT, Everything, Inner, Other, codec_of, everything

CODEC = codec_of(Everything, CONTRACT)
RECORD = Everything(
    text="t",
    number=1,
    small=2,
    wide=0.5,
    narrow=0.5,
    flag=True,
    raw=b"raw",
    nothing=None,
    colour="RED",
    maybe_text=None,
    maybe_inner=None,
    any_of=None,
    inner=Inner("i", None),
    texts=("a",),
    inners=(),
    nested=((1,),),
    counts=FrozenMap({"a": 1}),
    inner_by_name=FrozenMap(),
    last="l",
)


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("text", None, "Everything.text must be str, is null"),
        ("text", 5, "Everything.text must be str, is int 5"),
        ("text", b"t", "Everything.text must be str, is bytes b't'"),
        ("text", "\ud800", "Everything.text: the string can't be written as UTF-8"),
        ("number", "5", "Everything.number must be int, is str '5'"),
        ("number", 1.5, "Everything.number must be int, is float 1.5"),
        ("number", 1e9, "Everything.number must be int, is float 1000000000.0"),
        ("number", 2**63, "Everything.number: 9223372036854775808 does not fit into long"),
        ("number", -(2**63) - 1, "does not fit into long"),
        ("small", 2**31, "Everything.small: 2147483648 does not fit into int"),
        ("small", -(2**31) - 1, "does not fit into int"),
        ("wide", "0.5", "Everything.wide must be float, is str '0.5'"),
        ("wide", 2**2000, "does not fit into double"),
        ("narrow", 1e300, "Everything.narrow: 1e+300 does not fit into float"),
        ("flag", "yes", "Everything.flag must be bool, is str 'yes'"),
        ("flag", None, "Everything.flag must be bool, is null"),
        ("raw", "raw", "Everything.raw must be bytes, is str 'raw'"),
        ("raw", bytearray(b"raw"), "Everything.raw must be bytes, is bytearray"),
        ("nothing", 5, "Everything.nothing must be NoneType, is int 5"),
        ("colour", "BLUE", "Everything.colour: 'BLUE' is not one of RED, GREEN"),
        ("maybe_text", 5, "Everything.maybe_text: int 5 is not one of null | string"),
        ("maybe_inner", Other(True), "Everything.maybe_inner: Other Other(flag=True) is not one of null | tests.Inner"),
        ("any_of", b"raw", "Everything.any_of: bytes b'raw' is not one of string | long"),
        ("any_of", True, "Everything.any_of: bool True is not one of"),
        ("inner", None, "Everything.inner must be Inner, is null"),
        ("inner", Inner("i", "x"), "Everything.inner.size: str 'x' is not one of null | long"),  # type: ignore[arg-type]
        ("texts", "abc", "Everything.texts must be tuple, is str 'abc'"),
        ("texts", ["abc"], "Everything.texts must be tuple, is list"),
        ("texts", ("a", None), "Everything.texts[1] must be str, is null"),
        ("inners", (Inner("i", None), "x"), "Everything.inners[1] must be Inner, is str 'x'"),
        ("nested", ((1,), (2, "x")), "Everything.nested[1][1] must be int, is str 'x'"),
        ("counts", {"a": 1}, "Everything.counts must be FrozenMap, is dict"),
        ("counts", FrozenMap({"a": "x"}), "Everything.counts['a'] must be int, is str 'x'"),
        ("counts", FrozenMap({1: 1}), "Everything.counts (a key) must be str, is int 1"),
    ],
)
def test_a_wrong_value(field: str, value: Any, complaint: str) -> None:
    with pytest.raises(EncodeError) as caught:
        CODEC.encode(dataclasses.replace(RECORD, **{field: value}))
    assert complaint in str(caught.value)


def test_the_record_without_faults_is_written() -> None:
    assert CODEC.decode(CODEC.encode(RECORD)) == RECORD


def test_a_record_of_another_type() -> None:
    with pytest.raises(EncodeError, match="Inner must be Everything, is Inner"):
        CODEC.encode(Inner("i", None))


def test_a_record_without_one_of_its_fields() -> None:
    incomplete = object.__new__(Inner)
    object.__setattr__(incomplete, "name", "i")
    with pytest.raises(EncodeError, match=r"Everything\.inner\.size is missing"):
        CODEC.encode(dataclasses.replace(RECORD, inner=incomplete))


@pytest.mark.parametrize("whole", [3, -3, 2**40])
def test_a_whole_number_is_written_as_a_double(whole: int) -> None:
    decoded = CODEC.decode(CODEC.encode(dataclasses.replace(RECORD, wide=whole)))
    assert (type(decoded.wide), decoded.wide) == (float, whole)


@pytest.mark.long
@given(everything, st.sampled_from([f.name for f in dataclasses.fields(Everything)]), st.data())
def test_a_value_from_another_field_is_refused_or_read_back_equal(
    record: Everything, field: str, data: st.DataObject
) -> None:
    other = data.draw(st.sampled_from([f.name for f in dataclasses.fields(Everything)]))
    mixed = dataclasses.replace(record, **{field: getattr(record, other)})
    try:
        decoded = CODEC.decode(CODEC.encode(mixed))
    except EncodeError as error:
        complaint = str(error)
    else:
        complaint = (
            "" if decoded == dataclasses.replace(mixed, narrow=decoded.narrow) else "it is read back differently"
        )
    assert not complaint or complaint.startswith(f"Everything.{field}")
