"""Parses settings of a service's logic from text."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from forebay.catalog import Service
from forebay.job import load_job
from forebay.utils.spelling import did_you_mean


class WrongSettings(ValueError):
    """A setting of the logic does not exist or is invalid. The message names the existing settings."""


def parse_logic(service: Service, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the logic's settings from text. Raises WrongSettings."""
    kind = load_job(service.job).settings
    defaults = kind()
    names = list(kind.__dataclass_fields__)
    parsed: dict[str, Any] = {}
    for name, text in given.items():
        if name not in names:
            known = f": choose from {', '.join(names)}" if names else ": it has none"
            raise WrongSettings(f"{service.name} has no setting {name!r}{did_you_mean(name, names) or known}")
        wanted = type(getattr(defaults, name))
        try:
            parsed[name] = wanted(text)
        except ValueError as error:
            raise WrongSettings(f"{name}={text} is not {_describe_type(wanted)}") from error
    try:
        kind(**parsed)
    except ValueError as error:
        raise WrongSettings(str(error)) from error
    return parsed


def _describe_type(kind: type[Any]) -> str:
    if issubclass(kind, Enum):
        return f"one of {', '.join(str(member.value) for member in kind)}"
    return f"of type {kind.__name__}"
