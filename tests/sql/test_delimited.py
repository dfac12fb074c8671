"""DELIMITED has the same bytes as commons-csv 1.4 writes, because different keys would go to other partitions."""

from __future__ import annotations

import pytest

import forebay.testing.driver as driver_module
from forebay.codec import DecodeError
from forebay.formats import no_contracts
from forebay.sql.catalog import Encoding, Named
from forebay.sql.encodings.rows import key_format, value_format
from forebay.sql.errors import SqlError
from forebay.sql.types import BYTES, INT, STRING
from tests.sql.driven import Driven, raw_output

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


READ: dict[tuple[str, str], tuple[str, str] | None] = {
    (",", '1,"a" '): ("1", "a"),
    (",", '"1"\t ,"a"\u2003'): ("1", "a"),
    (",", '"1" ,a'): ("1", "a"),
    (",", '"1" , "a" '): ("1", ' "a" '),
    (",", '"1,"" ,x" ,"a ""b"" " \r\n'): ('1," ,x', 'a "b" '),
    (",", ' "1" ,a'): (' "1" ', "a"),
    ("\t", '"1" \t"a" '): ("1", "a"),
    (" ", '"1" "a"'): ("1", "a"),
    (" ", '"1"  "a"'): None,
    ("|", '"1" |"a" '): ("1", "a"),
    ("^", '"1" ^"a" '): ("1", "a"),
    ("-", '"1" -"a" '): ("1", "a"),
    (",", '"1"\u00a0,a'): None,
    (",", '"1" x,a'): None,
    (",", '"1 ,a'): None,
}


@pytest.mark.parametrize(("delimiter", "text"), READ)
def test_blanks_behind_a_closing_quote_are_ignored(delimiter: str, text: str) -> None:
    encoding = Encoding(value="DELIMITED", delimiter=delimiter)
    codec = value_format((Named("A", STRING), Named("B", STRING)), encoding).codec(no_contracts)
    expected = READ[delimiter, text]
    if expected is None:
        with pytest.raises(DecodeError):
            codec.decode(text.encode())
    else:
        assert codec.decode(text.encode()) == expected


@pytest.mark.parametrize("text", ["1,a\n2,b", '1,"a" \n2,b', "1,a\r\n2,b"])
def test_a_record_of_several_lines_is_refused_with_the_remedy(text: str) -> None:
    codec = value_format((Named("A", INT), Named("B", STRING)), Encoding(value="DELIMITED")).codec(no_contracts)
    with pytest.raises(DecodeError, match="it has several lines; write a record for each, or quote a field with line"):
        codec.decode(text.encode())


def test_keys_are_quoted_likewise() -> None:
    codec = key_format((Named("A", INT), Named("B", STRING)), "DELIMITED").codec(no_contracts)
    assert codec.encode((-3, "x")) == b'"-3",x'


def test_another_delimiter_is_quoted_in_its_place() -> None:
    encoding = Encoding(value="DELIMITED", delimiter="|")
    codec = value_format((Named("A", STRING), Named("B", STRING)), encoding).codec(no_contracts)
    assert codec.encode(("a,b", "b|c")) == b'a,b|"b|c"'


KEYS = {
    "CREATE STREAM b WITH (FORMAT='JSON') AS SELECT * FROM a;": b'{"K1":"x","K2":"y z"}',
    "CREATE STREAM b AS SELECT * FROM a;": b"x;y z",
    "CREATE STREAM b WITH (KEY_DELIMITER='SPACE') AS SELECT * FROM a;": b'x "y z"',
    "CREATE TABLE b AS SELECT k2, v, COUNT(*) AS n FROM a GROUP BY k2, v;": b"y z;1",
    "CREATE TABLE b WITH (KEY_DELIMITER='-') AS SELECT k2, v, COUNT(*) AS n FROM a GROUP BY k2, v;": b"y z-1",
    "CREATE STREAM c (k1 STRING KEY, k2 STRING KEY, v INT) WITH (KAFKA_TOPIC='B', FORMAT='DELIMITED');"
    "INSERT INTO c SELECT k1, k2, v FROM a;": b"x,y z",
}


@pytest.mark.parametrize("query", KEYS)
def test_keys_have_a_delimiter_of_their_own(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "show_output", raw_output)
    driven = Driven(
        "CREATE STREAM a (k1 STRING KEY, k2 STRING KEY, v INT, w INT) "
        f"WITH (KAFKA_TOPIC='a', FORMAT='DELIMITED', KEY_DELIMITER=';', VALUE_DELIMITER='|');{query}"
    )
    driven.send("a", "x;y z", "1|2")
    assert [item.key for item in driven.sent if item.topic == "B"] == [KEYS[query]]


@pytest.mark.parametrize("option", ["KEY_DELIMITER", "VALUE_DELIMITER"])
def test_a_delimiter_of_another_format_is_refused(option: str) -> None:
    with pytest.raises(SqlError, match=f"{option} is for DELIMITED, the format is JSON"):
        Driven(f"CREATE STREAM a (k INT KEY, v INT) WITH (KAFKA_TOPIC='a', FORMAT='JSON', {option}=';');")


def test_bytes_are_base64() -> None:
    codec = value_format((Named("A", INT), Named("B", BYTES)), Encoding(value="DELIMITED")).codec(no_contracts)
    assert codec.encode((1, b"\x00\xff?")) == b"1,AP8/"
    assert codec.decode(b"1,AP8/") == (1, b"\x00\xff?")


def test_bytes_that_are_no_base64_go_to_errors() -> None:
    driven = Driven(
        "CREATE STREAM s (id VARCHAR KEY, n INT, b BYTES) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='DELIMITED');\n"
        "CREATE STREAM o AS SELECT id, n FROM s;"
    )
    assert driven.send("in", "k", "1,b'!'") == []
    assert len(driven.driver.errors) == 1
