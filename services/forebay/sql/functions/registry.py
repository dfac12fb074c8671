"""The registry of functions, with their signatures and the binding of calls."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any

from forebay.sql import casts
from forebay.sql.binding import Binder
from forebay.sql.bound import Bound
from forebay.sql.errors import Place, SqlError
from forebay.sql.syntax import Call, Lambda, Literal
from forebay.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    NULL,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
    is_number,
)

Result = SqlType | Callable[[list[SqlType]], SqlType]
Special = Callable[[Binder, Call], Bound]

_EXACT: dict[str, SqlType] = {
    "s": STRING,
    "i": INT,
    "l": BIGINT,
    "d": DOUBLE,
    "b": BOOLEAN,
    "y": BYTES,
    "D": DATE,
    "T": TIME,
    "S": TIMESTAMP,
    "as": ArrayType(STRING),
    "mss": MapType(STRING, STRING),
}
_WORDS = {
    "n": "a number",
    "c": "a DECIMAL",
    "a": "an ARRAY",
    "m": "a MAP",
    "t": "a STRUCT",
    "*": "a value",
}


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature of a function.

    Args:
        parameters: Letters for types (see `_EXACT`, `_WORDS`). After a letter, `?` means that the argument is
            optional, and `+` that there can be any number of arguments.
        call: Computes the result. Arguments are never None, unless `takes_null` is set.
        check: Called once with the literal arguments, and None for others. It raises ValueError for arguments that are
            always invalid.
        is_limited: Whether a call can take any time or create values of any size, which is counted for each record.
        typed: Whether `call` returns the function that computes the result, for the type of the result.
        is_alike: Whether arguments are converted to their common type, so that the result has values of one type.
    """

    parameters: tuple[str, ...]
    result: Result
    call: Callable[..., Any]
    takes_null: bool = False
    check: Callable[..., None] | None = None
    is_limited: bool = False
    typed: bool = False
    is_alike: bool = False

    def fits(self, types: Sequence[SqlType], *, exactly: bool) -> list[SqlType] | None:
        """Return the types to which arguments are converted, or None if they don't fit."""
        wanted = [parameter.rstrip("?") for parameter in self.parameters]
        if wanted and wanted[-1].endswith("+"):
            repeated = wanted.pop().rstrip("+")
            wanted += [repeated] * max(0, len(types) - len(wanted))
        needed = sum(1 for parameter in self.parameters if not parameter.endswith(("?", "+")))
        if not needed <= len(types) <= len(wanted):
            return None
        fits = [_fit(letter, kind, exactly) for letter, kind in zip(wanted, types, strict=False)]
        return None if None in fits else [item for item in fits if item is not None]


def _fit(letter: str, kind: SqlType, exactly: bool) -> SqlType | None:
    exact = _EXACT.get(letter)
    if exact is not None:
        return exact if kind in (exact, NULL) or (not exactly and casts.widens(kind, exact)) else None
    fits = {
        "n": is_number(kind),
        "c": isinstance(kind, DecimalType),
        "a": isinstance(kind, ArrayType),
        "m": isinstance(kind, MapType),
        "t": isinstance(kind, StructType),
        "*": True,
    }
    return kind if fits[letter] or kind == NULL else None


_ANY = 1 << 30

SIGNATURES: dict[str, list[Signature]] = {}
SPECIAL: dict[str, Special] = {}
ELSEWHERE: list[tuple[Container[str], str]] = []
"""Functions that are not scalar, with the message for an expression that calls them."""


def function(
    names: str,
    parameters: str,
    result: Result,
    call: Callable[..., Any],
    *,
    takes_null: bool = False,
    check: Callable[..., None] | None = None,
    is_limited: bool = False,
    typed: bool = False,
    is_alike: bool = False,
) -> None:
    """Return a decorator that registers a signature. Names are separated by blanks. For the others, see `Signature`."""
    signature = Signature(tuple(parameters.split()), result, call, takes_null, check, is_limited, typed, is_alike)
    for name in names.split():
        SIGNATURES.setdefault(name, []).append(signature)


def special(names: str, least: int = 0, most: int = _ANY) -> Callable[[Special], Special]:
    """Return a decorator that registers a function which binds the syntax of its call itself.

    Args:
        names: Names, separated by blanks.
        least: Smallest number of arguments.
        most: Largest number of arguments.
    """

    def declare(made: Special) -> Special:
        def check_call(make: Binder, call: Call) -> Bound:
            given = len(call.arguments)
            if not least <= given <= most:
                wanted = str(least) if least == most else f"{least} or more" if most == _ANY else f"{least} to {most}"
                raise SqlError(call.place, f"{call.name} of {given} values does not exist: write {wanted}")
            return made(make, call)

        for name in names.split():
            SPECIAL[name] = check_call
        return made

    return declare


class Registry:
    """The registered functions, which bind calls."""

    def apply(self, make: Binder, call: Call) -> Bound:
        """Return a bound call. Raises SqlError with the existing signatures or functions."""
        result = SPECIAL.get(call.name)
        if result is not None:
            return result(make, call)
        signatures = SIGNATURES.get(call.name)
        if signatures is None:
            for functions, remedy in ELSEWHERE:
                if call.name in functions:
                    raise SqlError(call.place, f"{call.name} is {remedy}")
            raise SqlError(call.place, f"there is no function {call.name}: {similar_functions(call.name)}")
        if any(isinstance(argument, Lambda) for argument in call.arguments):
            raise SqlError(call.place, f"{call.name} takes values, no functions: write a value")
        arguments = [make.of(argument) for argument in call.arguments]
        types = [argument.type for argument in arguments]
        for exactly in (True, False):
            for signature in signatures:
                wanted = signature.fits(types, exactly=exactly)
                if wanted is not None:
                    return _call_of(make, call, signature, arguments, wanted)
        named = " or ".join(f"{call.name}({', '.join(map(word_of, signature.parameters))})" for signature in signatures)
        given = ", ".join(map(str, types))
        raise SqlError(call.place, f"{call.name}({given}) does not exist: write {named}")


def _call_of(make: Binder, call: Call, signature: Signature, arguments: list[Bound], wanted: list[SqlType]) -> Bound:
    if signature.is_alike:
        given, kind = make.alike(arguments, call)
        wanted = [kind] * len(given)
    else:
        given = [make.cast(item, kind, call) for item, kind in zip(arguments, wanted, strict=True)]
    try:
        result = signature.result(wanted) if callable(signature.result) else signature.result
    except TypeError as error:
        raise SqlError(call.place, f"{call.name}: {error}") from error
    if signature.check is not None:
        try:
            signature.check(*(argument.value if isinstance(argument, Literal) else None for argument in call.arguments))
        except ValueError as error:
            raise SqlError(_first_text(call), f"{call.name}: {error}") from error
    function = signature.call(result) if signature.typed else signature.call
    strict = () if signature.takes_null else range(len(given))
    return make.call(call.name, function, given, result, strict, is_limited=signature.is_limited)


def _first_text(call: Call) -> Place:
    texts = [
        argument.place
        for argument in call.arguments
        if isinstance(argument, Literal) and isinstance(argument.value, str)
    ]
    return texts[0] if texts else call.place


def word_of(letter: str) -> str:
    """Return a parameter of a signature as shown to users."""
    plain = letter.rstrip("?+")
    name = str(_EXACT[plain]) if plain in _EXACT else _WORDS[plain]
    return f"[{name}]" if letter.endswith("?") else f"{name} ..." if letter.endswith("+") else name


def similar_functions(name: str) -> str:
    """Return a hint with similar names for a function that does not exist."""
    near = sorted(item for item in (*SIGNATURES, *SPECIAL) if item[:3] == name[:3])
    return f"write one of {', '.join(near)}" if near else "SHOW FUNCTIONS lists them"


def first(types: list[SqlType]) -> SqlType:
    """Return the first argument's type as the result's."""
    return types[0]


def item_of(types: list[SqlType]) -> SqlType:
    """Return the type of the first argument's items."""
    kind = types[0]
    return kind.item if isinstance(kind, ArrayType) else NULL
