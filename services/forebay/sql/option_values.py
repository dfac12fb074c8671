"""Validation and conversion of the values of options in a WITH clause."""

from __future__ import annotations

from collections.abc import Callable

from forebay.sql.errors import Place, SqlError
from forebay.sql.written_options import Options, OptionValue
from forebay.utils.names import check_name

DELIMITERS = {"SPACE": " ", "TAB": "\t"}


def with_values(given: Options, place: Place) -> Options:
    """Return the options with converted values. A number or a boolean may be written as a text.

    Args:
        given: The options.
        place: Place of the statement.

    Raises:
        SqlError: A value is not valid for its option.
    """
    options = Options(given.places)
    for name, value in given.items():
        check = _CHECKS.get(name)
        try:
            options[name] = value if check is None else check(value)
        except ValueError as error:
            raise SqlError(given.place_of(name, place), f"{name} is {value!r}: {error}") from error
    return options


def duration(name: str, text: str, place: Place) -> int:
    """Return a duration such as 10 SECONDS in ms. Raises SqlError."""
    from forebay.sql.reader import Reader  # noqa: PLC0415 (only sources with windows need it)
    from forebay.sql.tokens import tokens_of  # noqa: PLC0415

    try:
        return Reader(text, tokens_of(text)).duration()
    except SqlError as error:
        raise SqlError(place, f"{name} {text!r}: {error.reason}") from error


def _whole(least: int, most: int) -> Callable[[OptionValue], OptionValue]:
    def check(value: OptionValue) -> int:
        try:
            result = int(str(value))
        except ValueError:
            result = least - 1
        if not least <= result <= most:
            raise ValueError(f"write a whole number from {least} to {most}")
        return result

    return check


def _truth(value: OptionValue) -> bool:
    result = {"TRUE": True, "FALSE": False}.get(str(value).upper())
    if result is None:
        raise ValueError("write TRUE or FALSE")
    return result


def _delimiter(value: OptionValue) -> str:
    mark = DELIMITERS.get(str(value).upper(), str(value).strip())
    if len(mark) != 1:
        raise ValueError(f"write a single character, or {' or '.join(DELIMITERS)}")
    return mark


def _topic(value: OptionValue) -> str:
    check_name(str(value))
    return str(value)


_CHECKS: dict[str, Callable[[OptionValue], OptionValue]] = {
    "KAFKA_TOPIC": _topic,
    "PARTITIONS": _whole(1, 2**31 - 1),
    "REPLICAS": _whole(1, 2**15 - 1),
    "RETENTION_MS": _whole(-1, 2**63 - 1),
    "VALUE_DELIMITER": _delimiter,
    "KEY_DELIMITER": _delimiter,
    "WRAP_SINGLE_VALUE": _truth,
}
