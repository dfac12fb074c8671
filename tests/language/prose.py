"""Extraction of a file's prose: the text of a page, or a program's docstrings, comments and messages."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path

_FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.DOTALL | re.MULTILINE)
_HIDDEN = re.compile(r"``[^`]*``|`[^`]*`|<!--.*?-->|\]\([^)]*\)", re.DOTALL)
_NATIVE = re.compile(r'"""(.*?)"""|#([^\n]*)', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of prose.

    Args:
        line: Line of the file at which it begins, counted from 1.
    """

    line: int
    text: str


@lru_cache(maxsize=1)
def nodes(file: Path) -> tuple[ast.AST, ...]:
    """Return the syntax nodes of a Python file. The last result is cached, because two checks read each file."""
    return tuple(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))


def passages(file: Path) -> list[Passage]:
    """Return the prose of a Markdown, Python or Cython file, without code."""
    text = file.read_text(encoding="utf-8")
    prose: Iterable[Passage]
    if file.suffix == ".py":
        prose = chain(_strings(nodes(file)), _comments(text))
    else:
        prose = _native(text) if file.suffix == ".pyx" else (Passage(1, text),)
    return [Passage(passage.line, without_code(passage.text)) for passage in prose]


def without_code(text: str) -> str:
    """Return the text with code, link targets and HTML comments replaced by a dot each. Line breaks are preserved."""
    for pattern in (_FENCE, _HIDDEN):
        text = pattern.sub(lambda match: "·" + "\n" * match[0].count("\n"), text)
    return text


def _native(text: str) -> Iterator[Passage]:
    for match in _NATIVE.finditer(text):
        yield Passage(text.count("\n", 0, match.start()) + 1, match[1] or match[2] or "")


def _strings(tree: Iterable[ast.AST]) -> Iterator[Passage]:
    for node in tree:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield Passage(node.lineno, node.value)


def _comments(text: str) -> Iterator[Passage]:
    if "#" not in text:
        return
    begin, lines, last = 0, list[str](), 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        if lines and token.start[0] != last + 1:
            yield Passage(begin, "\n".join(lines))
            lines = []
        begin = begin if lines else token.start[0]
        lines.append(token.string.lstrip("#"))
        last = token.start[0]
    if lines:
        yield Passage(begin, "\n".join(lines))
