"""Creation of a new service from templates: its logic, entry, producer, test and chart values."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from importlib import resources
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path
from string import Template

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LONGEST = 50
_SUFFIX = ".tmpl"


class Kind(Enum):
    """The language of a service's logic, with its folders of templates. Later folders replace files of earlier ones."""

    PYTHON = ("common", "python")
    SQL = ("common", "json", "sql")
    KSML = ("common", "json", "ksml")


_TOTALS = {
    Kind.PYTHON: "",
    Kind.SQL: "(2, 6.5)",
    Kind.KSML: '{"events": 2, "amount": 6.5}',
}
"""The expected result in the test of a service."""


class WrongName(ValueError):
    """A service can't have this name, or the folder exists. The message says what to write instead."""


def package_name(name: str) -> str:
    """Return the name of the package of a service.

    Raises:
        WrongName: The name is not allowed for a service, or a module with the package's name already exists.
    """
    package = name.replace("-", "_")
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        near = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-0123456789")[:_LONGEST].rstrip("-") or "my-service"
        raise WrongName(
            f"{name!r} is not a valid name of a service: use lowercase letters, digits and "
            f"hyphens, at most {_LONGEST}, a letter first, such as {near}"
        )
    if keyword.iskeyword(package) or find_spec(package) is not None:
        raise WrongName(f"Python has a {package} already, which the service's package would hide: write {name}-service")
    return package


def project_files(name: str, kind: Kind = Kind.PYTHON) -> Mapping[str, str]:
    """Return the texts of a new service's files by path. Raise WrongName as `package_name` does."""
    package = package_name(name)
    title = name.replace("-", " ").capitalize()
    facts = {"name": name, "package": package, "title": title, "totals": _TOTALS[kind]}
    files = resources.files("forebay") / "scaffold" / "files"
    return {
        _path(parts, package): Template(file.read_text(encoding="utf-8")).substitute(facts)
        for folder in kind.value
        for parts, file in _templates(files / folder, ())
    }


def write_project(name: str, folder: Path, kind: Kind = Kind.PYTHON) -> tuple[Path, ...]:
    """Write a new service into `folder`, which must be empty or not exist. Return the files.

    Raises:
        WrongName: The name or the folder can't be used.
    """
    files = project_files(name, kind)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise WrongName(f"{folder} already exists: choose another name or --folder, or move it away")
    written = []
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        written.append(file)
    return tuple(written)


def _templates(folder: Traversable, parts: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _templates(entry, (*parts, entry.name))
        elif entry.name.endswith(_SUFFIX):
            yield (*parts, entry.name.removesuffix(_SUFFIX)), entry


def _path(parts: tuple[str, ...], package: str) -> str:
    names = {"package": package, "test_package.py": f"test_{package}.py", "gitignore": ".gitignore"}
    return "/".join(names.get(part, part) for part in parts)
