"""The tokenizer of statements, which is the tokenizer of the SQL library with ksqlDB's dialect."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from sqlglot import tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from forebay.sql.errors import Place, SqlError
from forebay.sql.unclosed import find_unclosed


class Ksql(Dialect):
    """ksqlDB's dialect, with names in backticks or double quotes, and texts in single quotes."""

    class Tokenizer(tokens.Tokenizer):
        """Tokenizer of the dialect, in which SHOW and similar words are not special."""

        IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ["`", '"']
        QUOTES: ClassVar[list[tuple[str, str] | str]] = ["'"]
        STRING_ESCAPES: ClassVar[list[str]] = ["'"]
        COMMANDS: ClassVar[set[TokenType]] = set()


_DIALECT = Ksql()


MOST_BRACKETS = 64
_RESERVED = (
    "SELECT FROM WHERE GROUP HAVING WINDOW PARTITION EMIT LIMIT ON JOIN INNER LEFT RIGHT FULL "
    "WITHIN AS WHEN THEN ELSE END AND OR IN LIKE BETWEEN IS INTO VALUES GRACE"
)
RESERVED = frozenset(_RESERVED.split())
"""Words that can't be names of columns without quotes."""
TOO_DEEP = "is nested too deeply: take brackets out, or split it into statements that read one another"


class Token(NamedTuple):
    """A token.

    Args:
        kind: word, name (a quoted name), text, number, symbol, end.
        text: The text of the token. A word is in upper case, and the content of quotes is unchanged.
    """

    kind: str
    text: str
    place: Place
    start: int
    stop: int


_KINDS = {TokenType.IDENTIFIER: "name", TokenType.STRING: "text", TokenType.NUMBER: "number"}
_JOINED = {"<>": "!=", "=>": "=>", "->": "->", ":=": ":=", "||": "||", "<=": "<=", ">=": ">="}


def tokens_of(text: str, file: str = "") -> list[Token]:
    """Return the tokens of a text, followed by an end token. Raises SqlError."""
    lines = line_starts(text)
    try:
        result = _DIALECT.tokenize(text)
    except SqlglotError as error:
        if open_ := find_unclosed(text):
            at, opening, closing = open_
            raise SqlError(
                place_of(lines, at, file),
                f"the {opening} that opens here is not closed: write {closing} where it ends, or look for one that is "
                "missing before it",
            ) from error
        raise SqlError(Place(file), f"this can't be read as SQL: {error}") from error
    tokens: list[Token] = []
    depth = 0
    for entry in result:
        place = place_of(lines, entry.start, file)
        depth += {"(": 1, ")": -1}.get(entry.text, 0) if entry.token_type is not TokenType.STRING else 0
        if depth > MOST_BRACKETS:
            raise SqlError(place, f"more than {MOST_BRACKETS} brackets are open here: the expression {TOO_DEEP}")
        kind = _KINDS.get(entry.token_type)
        if kind is None:
            kind = "word" if entry.text[:1].isalpha() or entry.text[:1] == "_" else "symbol"
        _add(
            tokens, Token(kind, entry.text.upper() if kind == "word" else entry.text, place, entry.start, entry.end + 1)
        )
    stop = len(text)
    tokens.append(Token("end", "", place_of(lines, stop, file), stop, stop))
    return tokens


def _add(tokens: list[Token], token: Token) -> None:
    """Append a token. Keywords of several words are split, and symbols that belong together are joined."""
    if token.kind == "word" and " " in token.text:
        at = token.start
        for part in token.text.split():
            tokens.append(Token("word", part, token.place, at, at + len(part)))
        return
    if token.kind == "number" and token.text.endswith(".") and len(token.text) > 1:
        tokens.append(token._replace(text=token.text[:-1] + ".0"))
        return
    if token.kind == "number" and _is_point(tokens, token.start):
        point = tokens.pop()
        tokens.append(token._replace(text=f"0.{token.text}", place=point.place, start=point.start))
        return
    text = _JOINED.get(token.text, token.text) if token.kind == "symbol" else token.text
    tokens.append(token._replace(text=text))


def _is_point(tokens: list[Token], start: int) -> bool:
    """Return whether the last token is the decimal point of a number such as .5, with nothing directly before it."""
    if not tokens or tokens[-1].text != "." or tokens[-1].kind != "symbol" or tokens[-1].stop != start:
        return False
    before = tokens[-2] if len(tokens) > 1 else None
    return before is None or before.stop != tokens[-1].start or (before.kind == "symbol" and before.text not in ")]")


def line_starts(text: str) -> list[int]:
    """Return the positions where the lines of a text begin."""
    return [0, *(at + 1 for at, letter in enumerate(text) if letter == "\n")]


def place_of(lines: list[int], at: int, file: str) -> Place:
    """Return the line and column of a position in a text whose lines begin there."""
    low, high = 0, len(lines)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if lines[middle] <= at else (low, middle)
    return Place(file, low + 1, at - lines[low] + 1)
