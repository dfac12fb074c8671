"""Services that other packages bring, without a change here.

A package names a module that has `SERVICE`: by an entry point of the group `forebay.services` once it is installed, or
by the environment variable FOREBAY_SERVICES (`--services`) while it is worked on. Child processes and Spark's workers
inherit the variable, so every process of a job has the same table.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from typing import Any

GROUP = "forebay.services"
VARIABLE = "FOREBAY_SERVICES"
ATTRIBUTE = "SERVICE"


class PluginError(Exception):
    """A package's service can't be used: says which module, who named it, and what to do."""


def brought() -> Iterator[tuple[str, Any]]:
    """Give what each named module has as `SERVICE`, with words for where it was found; a module counts once.

    Raises:
        PluginError: a module can't be imported, or has no `SERVICE`.
    """
    for module, origin in _named().items():
        place = f"{module} (named by {origin})"
        yield place, attribute_of(module, ATTRIBUTE, place)


def attribute_of(module: str, attribute: str, place: str) -> Any:
    """Import a module and give its attribute. Raises PluginError, with `place` in its message."""
    try:
        return getattr(importlib.import_module(module), attribute)
    except ImportError as error:
        remedy = "install its package, or put its folder on PYTHONPATH"
        raise PluginError(f"{place} can't be imported: {error}: {remedy}") from error
    except AttributeError as error:
        raise PluginError(f"{place} has no {attribute}: see docs/new-service.md") from error


def _named() -> dict[str, str]:
    modules = dict(_installed())
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
