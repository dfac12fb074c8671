"""Services and producers that packages bring, without a change here.

A package names modules: those that have `SERVICE` by entry points of the group `forebay.services`, those that have
`SOURCE` by entry points of `forebay.producers`, named as their topics. It is found once it is installed, or, while it
is worked on, by the same lines of the pyproject.toml in the current folder, or next to this library in its checkout.
Services are named by the environment variable FOREBAY_SERVICES (`--services`), too: child processes and Spark's workers
inherit it, so every process of a job has the same table.
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
"""The project next to this library in its checkout: its services are found without an installation."""
CHECKOUT = Path(__file__).resolve().parents[2]
VARIABLE = "FOREBAY_SERVICES"
ATTRIBUTE = "SERVICE"
_ENTRY = "SERVICE = Service(name=..., summary=..., inputs=(Topic(...),), outputs=(Topic(...),), stores={...}, job=...)"
_INSTALL = "install its package, or put its folder on PYTHONPATH"


class PluginError(Exception):
    """A package's service can't be used: says which module, who named it, and what to do."""


class Named(NamedTuple):
    """A module that brings something.

    Args:
        name: the entry point's; the module's own without one.
        origin: who named it, for messages.
    """

    name: str
    module: str
    origin: str

    @property
    def place(self) -> str:
        """The module and who named it."""
        return f"{self.module} (named by {self.origin})"


def yield_modules(group: str) -> Iterator[Named]:
    """Yield the modules that bring something of a group; each counts once."""
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
        # A missing module within the user's module is a mistake in that module. Only a missing module itself is a
        # missing package.
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
    """Return the package that a module is in; a module on its own is one."""
    return module.rpartition(".")[0] or module


def bring_project(folder: Path) -> None:
    """Have this process and those it starts find the services of the project in `folder`, from any folder."""
    modules = services_of(folder, GROUP).values()
    registered = [entry.module for entry in _modules(GROUP)]
    installed = {entry.module for entry in _installed_modules(GROUP)}
    missing = [module for module in modules if module not in registered and module not in installed]
    if not missing:
        return
    os.environ[VARIABLE] = ",".join([*registered, *missing])
    paths = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), *paths.split(os.pathsep)] if paths else [str(folder)])
    # PYTHONPATH serves the processes that this one starts. This process reads it only at its own start.
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
