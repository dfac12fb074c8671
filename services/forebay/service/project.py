"""The project that a command is given in: its services need no installation and no environment variable."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

FILE = "pyproject.toml"


def services_of(folder: Path, group: str, name: str = "") -> Mapping[str, str]:
    """Return the modules that the folder's pyproject.toml names in the entry points of `group`, by their names.

    A file that is missing, or that can't be read as TOML, names none: it may be anybody's.

    Args:
        name: the project that counts; "": any.
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
    """Return what a file says of its project; read once as it is: 2 ms each time a service is looked up."""
    with file.open("rb") as opened:
        return tomllib.load(opened)["project"]
