"""Compilation of generated source to functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from forebay.sql import limits

GENERATED = "<sql>"
"""Module name of generated functions. It can't be imported, so functions are pickled by value, with their constants."""
STOPS = (limits.LimitReached, MemoryError)
"""Errors that stop the evaluation of a row. After any other error, the column is null."""
_MANY_COLUMNS = 64
"""Number of columns from which the sizes of a row's columns are counted, as in rows with limited functions."""
_COLUMNS_AT_A_TIME = 16
SIMPLE = re.compile(r"\w+(\[-?\d+\])*|-?\d+(\.\d+)?|'[^'\\]*'")
"""Source of expressions that can't fail and create nothing, which are names, items of rows and plain literals."""


def compile_tuple(parameters: str, sources: Sequence[str], namespace: dict[str, Any]) -> Callable[..., tuple[Any, ...]]:
    """Return a function that returns the values of expressions as a tuple. If an expression raises, its value is null.

    LimitReached and MemoryError are not handled in this way. The function raises them.

    Args:
        parameters: Parameters of the function, separated by commas.
        sources: Source of each expression.
        namespace: Constants that the source uses, by name.
    """
    lines = [f"def made({parameters}):"]
    if len(sources) > _MANY_COLUMNS:
        namespace = {**namespace, "BEGIN": limits.begin}
    lines += [f" {name}()" for name, value in namespace.items() if value is limits.begin]
    is_counted = len(lines) > 1 or len(sources) > _MANY_COLUMNS
    results = []
    computed: list[str] = []
    for number, source in enumerate(sources):
        if SIMPLE.fullmatch(source) or source == "None":
            results.append(source)
            continue
        # If a column fails, it is null, and the other columns are evaluated, as in ksqlDB. Simple columns have no
        # `try`, which would make the function slower.
        lines += [" try:", f"  e{number} = {source}", " except STOPS: raise", f" except Exception: e{number} = None"]
        results.append(f"e{number}")
        computed.append(f"e{number}")
        # Check after every 16 columns, so that a wide row fails before it uses up the worker's memory.
        if is_counted and len(computed) == _COLUMNS_AT_A_TIME:
            lines.append(f" CHECK(({', '.join(computed)}))")
            computed.clear()
    lines.append(f" return ({''.join(result + ', ' for result in results)})")
    scope = {**namespace, "STOPS": STOPS, "CHECK": limits.check_created, "__name__": GENERATED}
    exec(compile("\n".join(lines), "<sql>", "exec"), scope)
    function: Callable[..., tuple[Any, ...]] = scope["made"]
    return function


def attempt(make: Callable[[], Any]) -> Any:
    """Return the result of a function, or None if it fails."""
    try:
        return make()
    except STOPS:
        raise
    except Exception:
        return None


def first_known(*values: Any) -> Any:
    """Return the first value that is not null; null if all values are null."""
    return next((value for value in values if value is not None), None)


def refuse_null() -> NoReturn:
    """Raise ValueError for a condition that is null. In ksqlDB, the generated Java code fails here, too."""
    raise ValueError("a condition of CASE is null")
