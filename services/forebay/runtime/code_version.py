"""The version of the code that computes a job's results."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import forebay
from forebay.catalog import Service
from forebay.job import load_job

HASHED = (".py", ".sql", ".yaml")
"""Suffixes of the files that determine the results of a service."""


def code_version(service: Service, logic: Mapping[str, Any]) -> str:
    """Return the version of a job's code: the library's version, and a hash of the service's package and settings.

    The hash covers names and contents of every file of the package that can change a result (HASHED).
    """
    hashed = hashlib.blake2b(digest_size=6)
    for name, file in _hashed_files(service):
        data = file.read_bytes()
        hashed.update(f"{name}\0{len(data)}\0".encode())
        hashed.update(data)
    hashed.update(repr(load_job(service.job).settings(**logic)).encode())
    return f"{forebay.__version__}+{hashed.hexdigest()}"


def _hashed_files(service: Service) -> list[tuple[str, Path]]:
    package = importlib.import_module(service.package)
    if not hasattr(package, "__path__"):
        file = Path(str(package.__file__))
        return [(file.name, file)]
    return sorted(
        (file.relative_to(folder).as_posix(), file)
        for folder in map(Path, package.__path__)
        for file in folder.rglob("*")
        if file.suffix in HASHED
    )
