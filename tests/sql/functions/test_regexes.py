"""Regular expressions have Java's semantics, or are rejected when the statement is parsed."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from forebay.sql.errors import SqlError
from forebay.sql.regexes.matching import compile_pattern
from forebay.sql.types import STRING
from tests.sql.functions.calls import value_of

MATCHES = {
    (r"(?<y>[0-9]+)-([0-9]+)", "in 2024-05"): "2024-05",
    (r"\p{Alpha}+", "1éab2"): "ab",
    (r"\p{L}+", "1éab2"): "éab",
    (r"\p{IsGreek}\p{Lu}", "aλA"): "λA",
    (r"\p{Punct}+", "a+~b"): "+~",
    (r"[a-z&&[^aeiou]]+", "aeixyz"): "xyz",
    (r"[a-c[x-z]]+", "mabxyn"): "abxy",
    (r"[]a]+", "b]a]"): "]a]",
    (r"\Qa.b\E.", "axb a.bc"): "a.bc",
    (r"[\Q^]\E]+", "a^]b"): "^]",
    (r"a++a", "aaa"): None,
    (r"(?>a+)b", "aab"): "aab",
    (r"\w+", "éab_1é"): "ab_1",
    (r"\d+", "٣1"): "1",
    (r"(?i)ÀB", "Àb"): "Àb",
    (r"(?i)à", "À"): None,
    (r"(?iu)à", "À"): "À",
    (r"(?i)[x-z]+", "XyZ"): "XyZ",
    (r"(?i:a)b", "Ab"): "Ab",
    (r"(?i:a)b", "AB"): None,
    (r"a.b", "a\nb"): None,
    (r"(?s)a.b", "a\nb"): "a\nb",
    (r"a.b", "a\u2028b"): None,
    (r"b$", "b\n"): "b",
    (r"b$", "b\nc"): None,
    (r"(?m)b$", "b\r\nc"): "b",
    (r"(?m)^c", "b\nc"): "c",
    (r"b\z", "b\n"): None,
    (r"\R", "a\r\nb"): "\r\n",
    (r"\h\h", "a \u3000"): " \u3000",
    (r"(a)\1", "aa"): "aa",
    (r"(?<n>a)\k<n>", "aa"): "aa",
    (r"(a)\2", "aa"): None,
    (r"(?<=\$)[0-9]+", "€1 $23"): "23",
    (r"a(?!b)", "ab ac"): "a",
    (r"\x41B\0103", "ABC"): "ABC",
    (r"(?x) a b # no letters", "ab"): "ab",
    (r"a{2}", "aaa"): "aa",
    (r"}]", "}]"): "}]",
    (r"[$.|?*+(){}-]+", "a$.|?*+(){}-"): "$.|?*+(){}-",
    (r"~&&--|x", "~&&--"): "~&&--",
}


@pytest.mark.parametrize("pattern", MATCHES)
def test_the_first_match_of_a_pattern(pattern: tuple[str, str]) -> None:
    regex, text = pattern
    assert value_of("REGEXP_EXTRACT(p, t)", {"P": (STRING, regex), "T": (STRING, text)}) == MATCHES[pattern]


CALLS: dict[str, Any] = {
    r"REGEXP_EXTRACT('(?<y>[0-9]+)-([0-9]+)', '2024-05', 2)": "05",
    r"REGEXP_EXTRACT('a', 'a', 1)": None,
    r"REGEXP_EXTRACT('a', 'a', -1)": None,
    r"REGEXP_EXTRACT('(a)|b', 'b', 1)": None,
    r"REGEXP_EXTRACT(CAST(NULL AS STRING), 'b')": None,
    r"REGEXP_EXTRACT('b', CAST(NULL AS STRING))": None,
    r"REGEXP_EXTRACT('', 'b')": "",
    r"REGEXP_EXTRACT_ALL('(a)|b', 'aba', 1)": ("a", None, "a"),
    r"REGEXP_EXTRACT_ALL('x', 'aba')": (),
    r"REGEXP_EXTRACT_ALL('x', 'aba', 1)": None,
    r"REGEXP_EXTRACT_ALL('x*', 'axb')": ("", "x", "", ""),
    r"REGEXP_EXTRACT_ALL('x*?', 'axb')": ("", "", "", ""),
    r"REGEXP_EXTRACT_ALL('|b', 'abb')": ("", "", "", ""),
    r"REGEXP_EXTRACT_ALL('^a??|.', 'aba')": ("", "b", "a"),
    r"REGEXP_REPLACE('aab', 'a??', '-')": "-a-a-b-",
    r"REGEXP_REPLACE('abc é1', '\p{L}+', 'L')": "L L1",
    r"REGEXP_REPLACE('xabx', '(a)(b)', '$2$1')": "xbax",
    r"REGEXP_REPLACE('a', '(a)', '$11')": "a1",
    r"REGEXP_REPLACE('a', '(?<n>a)', '${n}!\$')": "a!$",
    r"REGEXP_REPLACE('b', '(a)|b', '[$1]')": "[]",
    r"REGEXP_REPLACE('abc', '', '-')": "-a-b-c-",
    r"REGEXP_REPLACE('abc', 'z', CONCAT('$9', ''))": "abc",
    r"REGEXP_REPLACE('abc', 'b', CONCAT('$9', ''))": None,
    r"REGEXP_SPLIT_TO_ARRAY('ab c', '\b')": ("ab", " ", "c"),
    r"REGEXP_SPLIT_TO_ARRAY('ab', '(?=b)|$')": ("a", "b"),
    r"REGEXP_SPLIT_TO_ARRAY('ab', 'ab|\b')": ("",),
    r"REGEXP_REPLACE('abc', 'b', '\n')": "anc",
    r"REGEXP_REPLACE('abc', 'b', CAST(NULL AS STRING))": None,
    r"REGEXP_SPLIT_TO_ARRAY('x,y;z', '(,|;)')": ("x", "y", "z"),
    r"REGEXP_SPLIT_TO_ARRAY(',a,,', ',')": ("", "a", "", ""),
    r"REGEXP_SPLIT_TO_ARRAY('abc', '')": ("a", "b", "c"),
    r"REGEXP_SPLIT_TO_ARRAY('axb', 'x*')": ("a", "", "b"),
    r"REGEXP_SPLIT_TO_ARRAY('abc', 'b*')": ("a", "", "c"),
    r"REGEXP_SPLIT_TO_ARRAY('', ',')": ("",),
    r"REGEXP_SPLIT_TO_ARRAY('', '')": ("",),
    r"REGEXP_SPLIT_TO_ARRAY('abc', 'z')": ("abc",),
    r"REGEXP_SPLIT_TO_ARRAY('abc', CAST(NULL AS STRING))": None,
}


@pytest.mark.parametrize("call", CALLS)
def test_results_of_functions(call: str) -> None:
    assert value_of(call) == CALLS[call]


REFUSED = [
    r"REGEXP_EXTRACT('a)', t)",
    r"REGEXP_EXTRACT('(a', t)",
    r"REGEXP_EXTRACT('[a', t)",
    r"REGEXP_EXTRACT('a**', t)",
    r"REGEXP_EXTRACT('a{2,1}', t)",
    r"REGEXP_EXTRACT('{', t)",
    r"REGEXP_EXTRACT('\y', t)",
    r"REGEXP_EXTRACT('\p{Nothing}', t)",
    r"REGEXP_EXTRACT('(?<n>a)(?<n>b)', t)",
    r"REGEXP_EXTRACT('\k<n>', t)",
    r"REGEXP_EXTRACT('(?U)a', t)",
    r"REGEXP_EXTRACT('((a{1000}){1000}){1000}', t)",
    r"REGEXP_EXTRACT_ALL('[z-a]', t)",
    r"REGEXP_REPLACE(t, '*', '')",
    r"REGEXP_REPLACE(t, 'a', '$1')",
    r"REGEXP_REPLACE(t, 'a', '${n}')",
    r"REGEXP_REPLACE(t, 'a', '$')",
    r"REGEXP_REPLACE(t, 'a', '\')",
    r"REGEXP_SPLIT_TO_ARRAY(t, '+')",
]


@pytest.mark.parametrize("call", REFUSED)
def test_invalid_pattern_is_refused_with_its_position(call: str) -> None:
    with pytest.raises(SqlError, match=r"1(:|, column )[0-9]+: REGEXP_"):
        value_of(call, {"T": (STRING, "text")})


def test_invalid_pattern_from_a_record_gives_null() -> None:
    assert value_of("REGEXP_EXTRACT(p, 'a')", {"P": (STRING, "(")}) is None


def test_a_library_that_is_missing_is_noticed_when_the_statement_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_pattern.cache_clear()
    monkeypatch.setitem(sys.modules, "regex", None)
    with pytest.raises(ModuleNotFoundError):
        value_of("REGEXP_EXTRACT(p, 'a')", {"P": (STRING, "a")})
