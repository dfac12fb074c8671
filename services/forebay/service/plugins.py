"""Discovery of the services and producers of packages.

A package declares its modules with entry points: modules with `SERVICE` in the group `forebay.services`, and modules
with `SOURCE` in the group `forebay.producers`, with the name of their topic. The entry points are found in installed
packages, in the pyproject.toml of the current folder, and in the one next to this library in its checkout. The
environment variable FOREBAY_SERVICES (`--services`) names further modules with services. Child processes and Spark's
workers inherit it, so that every process of a job has the same table.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple

from forebay.service.mistakes import mistake
from forebay.service.project import FILE, services_of

GROUP = "forebay.services"
PRODUCERS = "forebay.producers"
OWN = "forebay-services"
"""The project next to this library in its checkout. Its services are found without an installation."""
CHECKOUT = Path(__file__).resolve().parents[2]
VARIABLE = "FOREBAY_SERVICES"
ATTRIBUTE = "SERVICE"
_ENTRY = "SERVICE = Service(name=..., summary=..., inputs=(Topic(...),), outputs=(Topic(...),), stores={...}, job=...)"
_INSTALL = "install its package, or put its folder on PYTHONPATH"


class PluginError(Exception):
    """A package's service can't be used. The message says which module, who named it and what to do."""


class Named(NamedTuple):
    """A module with a service or producer.

    Args:
        name: Name of the entry point; without an entry point, name of the module.
        module: Name of the module.
        origin: Who named it, for messages.
    """

    name: str
    module: str
    origin: str

    @property
    def place(self) -> str:
        """The module and who named it."""
        return f"{self.module} (named by {self.origin})"


def yield_modules(group: str) -> Iterator[Named]:
    """Yield the modules of a group, each once."""
    seen: set[str] = set()
    for entry in (
        *_installed_modules(group),
        *_of_checkout(CHECKOUT, group),
        *_of_project(Path.cwd(), group),
        *_modules(group),
    ):
        if entry.module not in seen:
            seen.add(entry.module)
            yield entry


def attribute_of(module: str, attribute: str, place: str, line: str = _ENTRY) -> Any:
    """Import a module and return its attribute.

    Args:
        place: The module and who named it, for messages.
        line: What to write if the attribute is missing.

    Raises:
        PluginError: The module does not exist, or has no such attribute.
        Mistake: The module raises an error.
    """
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as error:
        # If an import in the user's module fails, the mistake is in that module. Only if the module itself is missing,
        # its package is not installed.
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise PluginError(f"{mistake(error, package_of(module), place)}: {_INSTALL}") from error
        raise PluginError(f"{place} can't be imported: {error}: {_INSTALL}") from error
    except Exception as error:  # a module is the user's code and may raise anything
        raise mistake(error, package_of(module), place) from error
    try:
        return getattr(loaded, attribute)
    except AttributeError as error:
        raise PluginError(
            f"{place} has no {attribute}: write `{line}` at its end; `forebay new NAME` writes a whole service "
            "(docs/new-service.md)"
        ) from error


def package_of(module: str) -> str:
    """Return the package of a module, or the module itself if it is in no package."""
    return module.rpartition(".")[0] or module


def bring_project(folder: Path) -> None:
    """Make this process and its child processes find the services of the project in `folder`, from any folder."""
    modules = services_of(folder, GROUP).values()
    registered = [entry.module for entry in _modules(GROUP)]
    installed = {entry.module for entry in _installed_modules(GROUP)}
    missing = [module for module in modules if module not in registered and module not in installed]
    if not missing:
        return
    os.environ[VARIABLE] = ",".join([*registered, *missing])
    paths = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), *paths.split(os.pathsep)] if paths else [str(folder)])
    # PYTHONPATH is for the child processes. This process read it only at its own start.
    sys.path.insert(0, str(folder))


@cache
def _of_checkout(folder: Path, group: str) -> tuple[Named, ...]:
    return tuple(_of_project(folder, group, OWN))


def _of_project(folder: Path, group: str, project: str = "") -> list[Named]:
    points = sorted(services_of(folder, group, project).items())
    return [Named(name, module, f"the entry point {name} in {FILE}") for name, module in points]


def _modules(group: str) -> list[Named]:
    names = os.environ.get(VARIABLE, "").split(",") if group == GROUP else []
    return [Named(name.strip(), name.strip(), VARIABLE) for name in names if name.strip()]


@cache
def _installed_modules(group: str) -> tuple[Named, ...]:
    points = sorted(entry_points(group=group), key=lambda point: point.name)
    return tuple(
        Named(point.name, point.value, f"the entry point {point.name} of {_distribution(point)}") for point in points
    )


def _distribution(point: Any) -> str:
    return str(point.dist.name) if point.dist else "an unnamed distribution"
