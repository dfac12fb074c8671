"""Functions are named by verbs or nouns, and variables by nouns."""

from __future__ import annotations

import ast

import pytest

from tests.language.names import vague_names


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def joined(a): ...", ["def joined"]),
        ("def _told(): ...", ["def _told"]),
        ("def join(a): ...\ndef need(): ...\ndef bind_stores(): ...", []),
        ("class A:\n    @property\n    def closed(self): ...", []),
        ("found = 1\nfor each in found: ...", ["found", "each"]),
        ("result = found", []),
        ("class Consumer:\n    def committed(self, places): ...", []),
    ],
)
def test_vague_names_are_found(source: str, names: list[str]) -> None:
    assert [name for _, name, _ in vague_names(ast.walk(ast.parse(source)))] == names
