"""Functions that print errors: one line per problem, shortened to a readable length."""

from __future__ import annotations

from rich.console import Console

_LONGEST = 1_500
_STOP = "[forebay.stop] "
"""A marker of errors that pass through Spark. It is removed, because it means nothing to users."""

_EXTRAS = {"jgo": "platform", "kubernetes": "kubernetes", "regex": "sql", "sqlglot": "sql"}
"""Optional libraries, and the extra that installs each."""


def lines_of(error: BaseException) -> list[str]:
    """Return the lines to print for an error: one per entry of its `problems` if it has them, else its message."""
    if isinstance(error, ModuleNotFoundError) and error.name in _EXTRAS:
        extra = _EXTRAS[error.name]
        return [f"this needs {error.name}, which is not installed: `pip install 'forebay[{extra}]'`"]
    problems = getattr(error, "problems", ())
    return [in_a_line(str(text)) for text in problems or [str(error) or type(error).__name__]]


def in_a_line(message: str) -> str:
    """Return a message as one line. The middle of a very long one is left out: cause and remedy are at its ends."""
    line = " ".join(message.replace(_STOP, "").split())
    if len(line) <= _LONGEST:
        return line
    left_out = len(line) - _LONGEST
    return f"{line[: _LONGEST // 2]} ... ({left_out} characters left out) ... {line[-_LONGEST // 2 :]}"


def show(console: Console, lines: list[str]) -> None:
    """Print error lines. They wrap between words on a terminal, and are not wrapped in a file."""
    for line in lines:
        console.print(
            f"error: {line}", style="bold red", markup=False, highlight=False, soft_wrap=not console.is_terminal
        )
