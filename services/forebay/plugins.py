"""Services that other packages bring, without a change here.

A package names a module that has `SERVICE`: by an entry point of the group `forebay.services` once it is installed, or,
while it is worked on, by the same lines of the pyproject.toml in the current folder, or by the environment variable
FOREBAY_SERVICES (`--services`). Child processes and Spark's workers inherit the variable, so every process of a job has
the same table.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from forebay.mistakes import mistake
from forebay.project import FILE, services_of

GROUP = "forebay.services"
VARIABLE = "FOREBAY_SERVICES"
ATTRIBUTE = "SERVICE"
_ENTRY = "SERVICE = Service(name=..., summary=..., inputs=(Topic(...),), outputs=(Topic(...),), stores={...}, job=...)"
_INSTALL = "install its package, or put its folder on PYTHONPATH"


class PluginError(Exception):
    """A package's service can't be used: says which module, who named it, and what to do."""


def brought() -> Iterator[tuple[str, Any]]:
    """Yield what each named module has as `SERVICE`, with words for where it was found; a module counts once.

    Raises:
        PluginError: a module can't be imported, or has no `SERVICE`. Mistake: it raises.
    """
    for module, origin in _named().items():
        place = f"{module} (named by {origin})"
        yield place, attribute_of(module, ATTRIBUTE, place)


def attribute_of(module: str, attribute: str, place: str, line: str = _ENTRY) -> Any:
    """Import a module and give its attribute.

    Args:
        place: the module and who named it, for messages.
        line: what to write where the attribute is missing.

    Raises:
        PluginError: the module is not there, or has no such attribute. Mistake: it raises.
    """
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise PluginError(f"{mistake(error, package_of(module), place)}: {_INSTALL}") from error
        raise PluginError(f"{place} can't be imported: {error}: {_INSTALL}") from error
    except Exception as error:  # whatever the module raises
        raise mistake(error, package_of(module), place) from error
    try:
        return getattr(loaded, attribute)
    except AttributeError as error:
        raise PluginError(
            f"{place} has no {attribute}: write `{line}` at its end; `forebay new NAME` writes a whole service "
            "(docs/new-service.md)"
        ) from error


def package_of(module: str) -> str:
    """Return the package that a module is in; a module on its own is one."""
    return module.rpartition(".")[0] or module


def bring_project(folder: Path) -> None:
    """Have this process and those it starts find the services of the project in `folder`, from any folder."""
    modules = services_of(folder, GROUP).values()
    named = [name.strip() for name in os.environ.get(VARIABLE, "").split(",") if name.strip()]
    missing = [module for module in modules if module not in named and module not in dict(_installed())]
    if not missing:
        return
    os.environ[VARIABLE] = ",".join([*named, *missing])
    paths = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), *paths.split(os.pathsep)] if paths else [str(folder)])
    sys.path.insert(0, str(folder))


def _named() -> dict[str, str]:
    modules = dict(_installed())
    for name, module in services_of(Path.cwd(), GROUP).items():
        modules.setdefault(module, f"the entry point {name} in {FILE}")
    for text in os.environ.get(VARIABLE, "").split(","):
        if name := text.strip():
            modules.setdefault(name, VARIABLE)
    return modules


@cache
def _installed() -> tuple[tuple[str, str], ...]:
    found = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    return tuple((point.value, f"the entry point {point.name} of {_distribution(point)}") for point in found)


def _distribution(point: Any) -> str:
    return str(point.dist.name) if point.dist else "an unnamed distribution"
