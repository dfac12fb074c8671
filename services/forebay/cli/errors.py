"""Print errors: one line per problem, cut to a readable length."""

from __future__ import annotations

from rich.console import Console

_LONGEST = 1_500
_STOP = "[forebay.stop] "
"""What marks an error on its way through Spark; of no use to a reader."""

_EXTRAS = {"jgo": "platform", "kubernetes": "kubernetes", "regex": "sql", "sqlglot": "sql"}
"""Libraries that not everybody needs, and the extra that brings each."""


def lines_of(error: BaseException) -> list[str]:
    """Return an error's lines: one for each of its `problems` if it has several, the first one first."""
    if isinstance(error, ModuleNotFoundError) and error.name in _EXTRAS:
        extra = _EXTRAS[error.name]
        return [f"this needs {error.name}, which is not installed: `pip install 'forebay[{extra}]'`"]
    problems = getattr(error, "problems", ())
    return [in_a_line(str(text)) for text in problems or [str(error) or type(error).__name__]]


def in_a_line(message: str) -> str:
    """Return a message as one line; of a very long one its beginning and end, where cause and remedy are."""
    line = " ".join(message.replace(_STOP, "").split())
    if len(line) <= _LONGEST:
        return line
    left_out = len(line) - _LONGEST
    return f"{line[: _LONGEST // 2]} ... ({left_out} characters left out) ... {line[-_LONGEST // 2 :]}"


def show(console: Console, lines: list[str]) -> None:
    """Print lines, broken between words where they are wider than a terminal; for a file each stays one line."""
    for line in lines:
        console.print(
            f"error: {line}", style="bold red", markup=False, highlight=False, soft_wrap=not console.is_terminal
        )
