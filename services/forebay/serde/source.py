"""Python source under construction, and its compilation."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Source:
    """Lines of one function, the constants they use, and fresh names."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0
        self._names = 0
        self.scope: dict[str, Any] = {}

    def add(self, *lines: str) -> None:
        """Append lines at the present depth."""
        self._lines.extend("    " * self._depth + line for line in lines)

    @contextmanager
    def block(self, opening: str) -> Iterator[None]:
        """Append `opening` and put what follows inside it."""
        self.add(opening)
        self._depth += 1
        yield
        self._depth -= 1

    def slot(self) -> Callable[[str], None]:
        """Keep a place for one line at the present depth; give the function that fills it."""
        index, depth = len(self._lines), self._depth
        self._lines.append("")

        def fill(line: str) -> None:
            self._lines[index] = "    " * depth + line

        return fill

    def name(self, prefix: str) -> str:
        """Give a name not used before."""
        self._names += 1
        return f"{prefix}{self._names}"

    def constant(self, prefix: str, value: Any) -> str:
        """Give the name under which the function finds `value`."""
        name = self.name(prefix)
        self.scope[name] = value
        return name

    def compile(self, function: str, origin: str) -> Callable[[Any], Any]:
        """Give the function of this name. Tracebacks show its lines under the file name `origin`."""
        text = "\n".join(self._lines) + "\n"
        linecache.cache[origin] = (len(text), None, text.splitlines(keepends=True), origin)
        exec(compile(text, origin, "exec"), self.scope)
        return self.scope[function]  # type: ignore[no-any-return]
