"""Predefined character classes of Java's regular expressions, as content of a set of the `regex` library."""

from __future__ import annotations

import re

TERMINATORS = r"\n\r\x85\u2028\u2029"
"""Line terminators, which a dot does not match by default."""
PREDEFINED = {
    "d": "0-9",
    "w": "A-Za-z0-9_",
    "s": r"\x20\t\n\x0b\f\r",
    "h": r"\x20\t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000",
    "v": r"\n\x0b\f\r\x85\u2028\u2029",
}
"""Classes by the letter after the backslash. A class of the upper-case letter is the complement."""
_POSIX = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "A-Za-z",
    "Digit": "0-9",
    "Alnum": "A-Za-z0-9",
    "Punct": r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    "Graph": r"\x21-\x7e",
    "Print": r"\x20-\x7e",
    "Blank": r"\x20\t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9A-Fa-f",
    "Space": r"\x20\t\n\x0b\f\r",
    "L1": r"\x00-\xff",
    "all": r"\U00000000-\U0010ffff",
    "javaLowerCase": r"\p{Lowercase}",
    "javaUpperCase": r"\p{Uppercase}",
    "javaAlphabetic": r"\p{Alphabetic}",
    "javaDigit": r"\p{Nd}",
    "javaLetter": r"\p{L}",
    "javaLetterOrDigit": r"\p{L}\p{Nd}",
    "javaTitleCase": r"\p{Lt}",
    "javaSpaceChar": r"\p{Z}",
    "javaISOControl": r"\x00-\x1f\x7f-\x9f",
    "javaWhitespace": r"\t\n\x0b\f\r\x1c-\x1f\x20\u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000",
}
_ANY_CASE = {"Lower": "A-Za-z", "Upper": "A-Za-z", "Lu": r"\p{LC}", "Ll": r"\p{LC}", "Lt": r"\p{LC}"}
_CATEGORIES = frozenset(
    "L Lu Ll Lt LC Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Cs Co Cn".split()  # noqa: SIM905
)
_BINARY = {
    "ALPHABETIC": "Alphabetic",
    "IDEOGRAPHIC": "Ideographic",
    "LETTER": "L",
    "LOWERCASE": "Lowercase",
    "UPPERCASE": "Uppercase",
    "TITLECASE": "Lt",
    "PUNCTUATION": "P",
    "CONTROL": "Cc",
    "WHITE_SPACE": "White_Space",
    "DIGIT": "Nd",
    "HEX_DIGIT": "Hex_Digit",
    "ASSIGNED": "Assigned",
}
_WORD = re.compile(r"[A-Za-z0-9_ \-]+")


def property_set(name: str, *, any_case: bool) -> str:
    r"""Return the set of a property such as Alpha, L, IsGreek or script=Greek. Raises ValueError if it is unknown.

    Args:
        name: Name of the property.
        any_case: Whether classes of upper-case or lower-case letters match both cases.
    """
    if any_case and name in _ANY_CASE:
        return _ANY_CASE[name]
    if name in _POSIX:
        return _POSIX[name]
    kind, mark, value = name.partition("=")
    if mark:
        of_kind = {
            "SCRIPT": "Script",
            "SC": "Script",
            "BLOCK": "Block",
            "BLK": "Block",
            "GENERAL_CATEGORY": "",
            "GC": "",
        }
        result = of_kind.get(kind.upper())
        if result is not None and _WORD.fullmatch(value) and (result or value in _CATEGORIES):
            return rf"\p{{{result}={value}}}" if result else rf"\p{{{value}}}"
    elif name in _CATEGORIES:
        return rf"\p{{{name}}}"
    elif name.startswith("In") and _WORD.fullmatch(name[2:]):
        return rf"\p{{Block={name[2:]}}}"
    elif name.startswith("Is") and _WORD.fullmatch(name[2:]):
        rest = name[2:]
        if rest in _CATEGORIES:
            return rf"\p{{{rest}}}"
        binary = _BINARY.get(rest.upper())
        return rf"\p{{{binary}}}" if binary else rf"\p{{Script={rest}}}"
    raise ValueError(f"there is no class of characters {name!r}")
