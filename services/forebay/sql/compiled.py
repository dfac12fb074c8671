"""Generated source becomes functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from forebay.sql import limits

GENERATED = "<sql>"
"""Module that generated functions are of: none that can be imported, so a copy of them has what they use."""
STOPS = (limits.LimitReached, MemoryError)
"""What an expression may raise; everything else makes its column null."""
_MANY_COLUMNS = 64
"""From so many on, the sizes of a row's columns are counted, as of rows with functions that are limited."""
_COLUMNS_AT_A_TIME = 16
SIMPLE = re.compile(r"\w+(\[-?\d+\])*|-?\d+(\.\d+)?|'[^'\\]*'")
"""Source of what can't fail and costs nothing: names, items of rows, plain literals."""


def compile_tuple(parameters: str, sources: Sequence[str], namespace: dict[str, Any]) -> Callable[..., tuple[Any, ...]]:
    """Return the function that gives a tuple of expressions; an expression that raises any error becomes null.

    LimitReached and MemoryError are no failures of an expression: the function raises them.

    Args:
        parameters: of the function, with commas.
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
        # A failing column becomes null and the row continues, as in ksqlDB. Simple columns need no `try`, which keeps
        # the function fast.
        lines += [" try:", f"  e{number} = {source}", " except STOPS: raise", f" except Exception: e{number} = None"]
        results.append(f"e{number}")
        computed.append(f"e{number}")
        # Check every 16 columns and not once per row, so that a wide row is stopped before it takes the worker's
        # memory.
        if is_counted and len(computed) == _COLUMNS_AT_A_TIME:
            lines.append(f" CHECK(({', '.join(computed)}))")
            computed.clear()
    lines.append(f" return ({''.join(result + ', ' for result in results)})")
    scope = {**namespace, "STOPS": STOPS, "CHECK": limits.check_created, "__name__": GENERATED}
    exec(compile("\n".join(lines), "<sql>", "exec"), scope)
    function: Callable[..., tuple[Any, ...]] = scope["made"]
    return function


def attempt(make: Callable[[], Any]) -> Any:
    """Return what is calculated, null where that fails."""
    try:
        return make()
    except STOPS:
        raise
    except Exception:
        return None


def refuse_null() -> NoReturn:
    """Raise the error of a condition that is null, which Java code of ksqlDB raises. Raises ValueError."""
    raise ValueError("a condition of CASE is null")
