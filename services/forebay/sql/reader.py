"""Token reader for the parser, which also parses names, numbers, types and durations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import NoReturn

from forebay.sql.errors import Place, SqlError
from forebay.sql.syntax import Literal
from forebay.sql.tokens import Token
from forebay.sql.types import NAMES, ArrayType, DecimalType, MapType, SqlType, StructType
from forebay.time.base import FOREVER

_UNITS = {
    "MILLISECOND": 1,
    "SECOND": 1_000,
    "MINUTE": 60_000,
    "HOUR": 3_600_000,
    "DAY": 86_400_000,
}
_MAX_DIGITS = 38
_MOST_DIGITS = 1_000
"""Largest number of digits of a number literal. Python converts at most 4,300 digits."""
LONG_MAX = (1 << 63) - 1


class Reader:
    """The tokens of a text and the current position.

    Args:
        text: The text.
        tokens: Its tokens.
        types: Named types of CREATE TYPE.
        lower: Whether unquoted names are folded to lower case.
    """

    def __init__(
        self, text: str, tokens: Sequence[Token], types: dict[str, SqlType] | None = None, *, lower: bool = False
    ) -> None:
        self.text = text
        self.types = {} if types is None else types
        self._lower = lower
        self._tokens = tokens
        self._at = 0

    @property
    def token(self) -> Token:
        """The next token."""
        return self._tokens[self._at]

    @property
    def place(self) -> Place:
        """Place of the next token."""
        return self.token.place

    def ahead(self, number: int = 1) -> Token:
        """Return a token after the next token, without advancing."""
        return self._tokens[min(self._at + number, len(self._tokens) - 1)]

    def step(self) -> Token:
        """Return the next token and advance."""
        result = self._tokens[self._at]
        if result.kind != "end":
            self._at += 1
        return result

    def fail(self, wanted: str) -> NoReturn:
        """Raise SqlError for an unexpected token. `wanted` describes the expected token."""
        result = f"{self.token.text!r}" if self.token.kind != "end" else "the end of the statement"
        raise SqlError(self.place, f"{result} can't be used here: write {wanted}")

    def at(self, *words: str) -> bool:
        """Return whether the next tokens are these words."""
        for number, word in enumerate(words):
            token = self.ahead(number)
            if token.kind not in ("word", "symbol") or token.text != word:
                return False
        return True

    def take(self, *words: str) -> bool:
        """Advance if the next tokens are these words, and return whether they are."""
        if not self.at(*words):
            return False
        for _ in words:
            self.step()
        return True

    def expect(self, *words: str) -> None:
        """Advance over the words. Raises SqlError if the next tokens are others."""
        if not self.take(*words):
            self.fail(" ".join(words))

    def name(self, what: str = "a name") -> str:
        """Return the next token as a name, which is folded to one case unless it is quoted. Raises SqlError."""
        digits = self.step().text if self.at_digit_name else ""
        if self.token.kind not in ("word", "name"):
            self.fail(what)
        result = self.step()
        return digits + (result.text.lower() if self._lower and result.kind == "word" else result.text)

    @property
    def at_digit_name(self) -> bool:
        """Whether the next tokens form a name that begins with a digit, such as 1st."""
        behind = self.ahead()
        return (
            self.token.kind == "number"
            and self.token.text.isdigit()
            and behind.kind == "word"
            and behind.start == self.token.stop
        )

    def since(self, start: int) -> str:
        """Return the text from a position to the end of the last token that was read."""
        return self.text[start : self._tokens[self._at - 1].stop]

    def string(self, what: str = "a text in single quotes") -> str:
        """Return the next token as a text literal. Raises SqlError."""
        if self.token.kind != "text":
            self.fail(what)
        return self.step().text

    def whole(self, what: str = "a whole number") -> int:
        """Return the next token as a whole number. Raises SqlError."""
        if self.token.kind != "number" or not self.token.text.isdigit() or len(self.token.text) > _MOST_DIGITS:
            self.fail(what)
        return int(self.step().text)

    def duration(self) -> int:
        """Return a duration such as 10 SECONDS in ms. Raises SqlError."""
        place, number = self.place, self.whole("a time such as 10 SECONDS")
        unit = _UNITS.get(self.token.text.removesuffix("S")) if self.token.kind == "word" else None
        if unit is None:
            self.fail("MILLISECONDS, SECONDS, MINUTES, HOURS or DAYS")
        self.step()
        if number * unit > FOREVER:
            raise SqlError(place, f"the time is longer than all times: write at most {FOREVER // unit} of this unit")
        return number * unit

    def type(self) -> SqlType:
        """Return the type that the next tokens describe. Raises SqlError."""
        place, token = self.place, self.step()
        if token.kind not in ("word", "name"):
            raise SqlError(
                place, f"{token.text!r} is not a type: write {', '.join(NAMES)}, DECIMAL, ARRAY, MAP or STRUCT"
            )
        match token.text:
            case "ARRAY":
                self.expect("<")
                item = self.type()
                self.expect(">")
                return ArrayType(item)
            case "MAP":
                self.expect("<")
                key = self.type()
                self.expect(",")
                value = self.type()
                self.expect(">")
                return MapType(key, value)
            case "STRUCT":
                return self._struct()
            case "DECIMAL" | "NUMERIC":
                return self._decimal(place)
        result = NAMES.get(token.text) or self.types.get(token.text)
        if result is None:
            raise SqlError(
                place,
                f"there is no type {token.text}: write {', '.join(NAMES)}, DECIMAL, ARRAY, MAP, STRUCT, or name it "
                "with CREATE TYPE before",
            )
        if token.text in ("VARCHAR", "STRING") and self.take("("):
            if not self.take("STRING"):
                self.whole()
            self.expect(")")
        return result

    def _struct(self) -> SqlType:
        self.expect("<")
        fields: list[tuple[str, SqlType]] = []
        while not self.at(">"):
            if fields:
                self.expect(",")
            field = self.name("a field's name")
            fields.append((field, self.type()))
        self.expect(">")
        return StructType(tuple(fields))

    def _decimal(self, place: Place) -> SqlType:
        precision, scale = _MAX_DIGITS, 10
        if self.take("("):
            precision, scale = self.whole(), 0
            if self.take(","):
                scale = self.whole()
            self.expect(")")
        if not 0 <= scale <= precision or precision < 1:
            raise SqlError(
                place, f"DECIMAL({precision}, {scale}): the scale is 0 to the precision, which is at least 1"
            )
        return DecimalType(precision, scale)


def number(text: str, place: Place) -> Literal:
    """Return a number literal, which is a DOUBLE with an exponent, a DECIMAL with a point, or else a whole number."""
    if len(text) > _MOST_DIGITS:
        raise SqlError(place, f"a number of {len(text)} digits: write {_MOST_DIGITS} at most")
    if "E" in text.upper():
        double = float(text)
        if math.isinf(double):
            raise SqlError(place, f"{text} is beyond what a DOUBLE holds: write a number up to 1.7976931348623157E308")
        return Literal(double, place=place)
    if "." in text:
        return Literal(Decimal(text), place=place)
    value = int(text)
    if value > LONG_MAX:
        raise SqlError(place, f"{text} is beyond what a BIGINT holds: write {text}.0 for a DECIMAL")
    return Literal(value, place=place)
