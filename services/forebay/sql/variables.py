"""Variables of DEFINE and UNDEFINE, which replace `${name}` in the statements that follow."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from forebay.sql.errors import SqlError
from forebay.sql.tokens import Token, line_starts, place_of, tokens_of

_USE = re.compile(r"\$(\$?)\{(\w*)\}")
"""A use of a variable. If there are two $, one of them is left out and the rest is not replaced, as in ksqlDB."""
_QUOTES = {"text": "'", "name": "`"}
_PLAIN = re.compile(r"-?[\w.]+", re.ASCII)


@dataclass(slots=True)
class Variables:
    """The values of variables by name. Names are case-insensitive."""

    values: dict[str, str] = field(default_factory=dict)

    def set(self, name: str, value: str | None) -> None:
        """Set a variable, or remove it if the value is None."""
        if value is None:
            self.values.pop(name.upper(), None)
        else:
            self.values[name.upper()] = value


@dataclass(slots=True)
class _Text:
    """A text that is being built, with the position of each part in the original text."""

    pieces: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    origins: list[int] = field(default_factory=list)
    length: int = 0

    def add(self, piece: str, origin: int) -> None:
        self.pieces.append(piece)
        self.starts.append(self.length)
        self.origins.append(origin)
        self.length += len(piece)

    def origin_of(self, at: int) -> int:
        piece = max(bisect_right(self.starts, at) - 1, 0)
        start, length = self.starts[piece], len(self.pieces[piece])
        return self.origins[piece] + min(at - start, length)


def replace_variables(text: str, tokens: Sequence[Token], variables: Variables, file: str) -> tuple[str, list[Token]]:
    """Return a text with its variables replaced, and its tokens with their places in the original. Raises SqlError.

    A value must be a single word, number, name or text. Within quotes, it can be any text, but can't end the quotes.
    """
    result, lines = _Text(), line_starts(text)
    at = 0
    for statement in _statements(tokens):
        for use in _USE.finditer(text, statement[0].start, statement[-1].stop):
            holder = next((token for token in statement if token.start <= use.start() < token.stop), None)
            if holder is None:  # a comment
                continue
            result.add(text[at : use.start()], at)
            result.add(use[0][1:] if use[1] else _value(use[2], holder, variables), use.start())
            at = use.end()
        _define(statement, variables)
    result.add(text[at:], at)
    whole = "".join(result.pieces)
    return whole, [
        token._replace(place=place_of(lines, result.origin_of(token.start), file)) for token in tokens_of(whole, file)
    ]


def _statements(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    statement: list[Token] = []
    for token in tokens:
        statement.append(token)
        if token.kind in ("symbol", "end") and token.text in (";", ""):
            yield statement
            statement = []


def _define(statement: Sequence[Token], variables: Variables) -> None:
    """Set the variable of a DEFINE statement, which the statements after it use."""
    words = [token.text for token in statement]
    if words[:1] == ["DEFINE"] and len(words) > 3 and words[2] == "=" and statement[3].kind == "text":
        variables.set(words[1], _USE.sub(lambda use: _replacement(use, variables), words[3]))
    elif words[:1] == ["UNDEFINE"] and len(words) > 1:
        variables.set(words[1], None)


def _replacement(use: re.Match[str], variables: Variables) -> str:
    return use[0][1:] if use[1] else variables.values.get(use[2].upper(), use[0])


def _value(name: str, holder: Token, variables: Variables) -> str:
    value = variables.values.get(name.upper())
    if value is None:
        known = ", ".join(sorted(variables.values)) or "none"
        raise SqlError(
            holder.place,
            f"there is no variable {name}: write DEFINE before, or $${{{name}}} if the text ${{{name}}} is meant; "
            f"there is: {known}",
        )
    quote = _QUOTES.get(holder.kind)
    if quote is not None:
        return value.replace(quote, quote * 2)
    words = tokens_of(value)
    is_one = len(words) == 2 and words[0].stop - words[0].start == len(value)
    if not is_one and not _PLAIN.fullmatch(value):
        raise SqlError(
            holder.place,
            f"the variable {name} is {value!r}: outside quotes, write one word, number, name or text",
        )
    return value
