"""Descriptions of arguments, read from docstrings."""

from __future__ import annotations

import inspect
import re

_ARGUMENT = re.compile(r"^    (?P<names>\w+(?:, \w+)*): (?P<meaning>.*)$")


def described_arguments(described: type) -> dict[str, str]:
    """Return the texts of the section "Args:" of a class's docstring, by argument. Several lines become one."""
    meanings: dict[str, str] = {}
    names: list[str] = []
    inside = False
    for line in (inspect.getdoc(described) or "").splitlines():
        if not line.startswith(" "):
            inside = line == "Args:" if line else inside
        elif inside and (match := _ARGUMENT.match(line)):
            names = match["names"].split(", ")
            meanings.update(dict.fromkeys(names, match["meaning"]))
        elif inside:
            meanings.update({name: f"{meanings[name]} {line.strip()}" for name in names})
    return meanings
