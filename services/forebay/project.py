"""The project that a command is given in: its services need no installation and no environment variable."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

FILE = "pyproject.toml"


def services_of(folder: Path, group: str, name: str = "") -> Mapping[str, str]:
    """Return the modules that the folder's pyproject.toml names in the entry points of `group`, by their names.

    A file that is missing, or that can't be read as TOML, names none: it may be anybody's.

    Args:
        name: the project that counts; "": any.
    """
    try:
        with (folder / FILE).open("rb") as file:
            project = tomllib.load(file)["project"]
        points = project["entry-points"][group] if name in ("", project["name"]) else {}
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError):
        return {}
    return {str(name): str(module) for name, module in points.items()} if isinstance(points, dict) else {}
