"""DELIMITED to the byte, as commons-csv 1.4 writes it: keys of other bytes would be in other partitions."""

from __future__ import annotations

import pytest

from forebay.formats import no_contracts
from forebay.sql.catalog import Encoding, Named
from forebay.sql.encodings.rows import key_format, value_format
from forebay.sql.types import BYTES, INT, STRING
from tests.sql.driven import Driven

WRITTEN = {
    ("a", "b"): b"a,b",
    ("-7", "-7"): b'"-7",-7',
    ("\u00e9", "\u00e9"): '"\u00e9",\u00e9'.encode(),
    ("a", "#b"): b'a,"#b"',
    ("a b", " b"): b'a b," b"',
    ("a ", "b\t"): b'"a ","b\t"',
    ("a,b", 'b"c'): b'"a,b","b""c"',
    ("a\nb", "b\rc"): b'"a\nb","b\rc"',
    (None, None): b",",
    ("", ""): b'"",',
}


@pytest.mark.parametrize("row", WRITTEN)
def test_fields_are_quoted_as_ksqldb_quotes_them(row: tuple[str | None, str | None]) -> None:
    codec = value_format((Named("A", STRING), Named("B", STRING)), Encoding(value="DELIMITED")).codec(no_contracts)
    assert codec.encode(row) == WRITTEN[row]
    assert codec.decode(WRITTEN[row]) == tuple(part or None for part in row)


def test_keys_are_quoted_likewise() -> None:
    codec = key_format((Named("A", INT), Named("B", STRING)), "DELIMITED").codec(no_contracts)
    assert codec.encode((-3, "x")) == b'"-3",x'


def test_another_delimiter_is_quoted_in_its_place() -> None:
    encoding = Encoding(value="DELIMITED", delimiter="|")
    codec = value_format((Named("A", STRING), Named("B", STRING)), encoding).codec(no_contracts)
    assert codec.encode(("a,b", "b|c")) == b'a,b|"b|c"'


def test_bytes_are_base64() -> None:
    codec = value_format((Named("A", INT), Named("B", BYTES)), Encoding(value="DELIMITED")).codec(no_contracts)
    assert codec.encode((1, b"\x00\xff?")) == b"1,AP8/"
    assert codec.decode(b"1,AP8/") == (1, b"\x00\xff?")


def test_bytes_that_are_no_base64_go_to_errors() -> None:
    made = Driven(
        "CREATE STREAM s (id VARCHAR KEY, n INT, b BYTES) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='DELIMITED');\n"
        "CREATE STREAM o AS SELECT id, n FROM s;"
    )
    assert made.send("in", "k", "1,b'!'") == []
    assert len(made.driver.errors) == 1
