"""The project in the current folder, whose services need neither an installation nor an environment variable."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

FILE = "pyproject.toml"


def services_of(folder: Path, group: str, name: str = "") -> Mapping[str, str]:
    """Return the modules of the entry points of `group` in the folder's pyproject.toml, by entry point.

    If the file is missing or can't be read as TOML, there are no modules, because it may belong to another program.

    Args:
        name: Name that the project must have; "": any name.
    """
    try:
        about = (folder / FILE).stat()
        project = _project(folder / FILE, about.st_mtime_ns, about.st_size)
        points = project["entry-points"][group] if name in ("", project["name"]) else {}
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError):
        return {}
    return {str(name): str(module) for name, module in points.items()} if isinstance(points, dict) else {}


@lru_cache(maxsize=8)
def _project(file: Path, _modified_ns: int, _size: int) -> Any:
    """Return the project table of a file. It is cached until the file changes, because reading it takes 2 ms."""
    with file.open("rb") as opened:
        return tomllib.load(opened)["project"]
