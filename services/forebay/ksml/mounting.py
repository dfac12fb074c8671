"""Definition files as a service, which every process of a job reads from the same paths."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import field, make_dataclass, replace
from pathlib import Path
from typing import NamedTuple

from forebay.catalog import COMPACTED, KEEP_FOREVER, Service, Topic
from forebay.job import Job
from forebay.ksml.compile import Definitions, KsmlSettings, definitions, job_of
from forebay.ksml.definition import Definition, read_definition
from forebay.ksml.document import Node
from forebay.ksml.errors import refusal
from forebay.ksml.functions import add_modules
from forebay.ksml.schema_folder import contracts_folder
from forebay.ksml.schemas import Registry, SchemaFiles
from forebay.service.agreement import store_contracts

FILES = "FOREBAY_KSML"
"""Environment variable with definition files, or folders of them, separated by commas."""
NAME = "FOREBAY_KSML_NAME"
"""Environment variable with the service's name, by default that of the first file."""
SCHEMAS = "FOREBAY_KSML_SCHEMAS"
"""Environment variable with folders of schemas, separated by commas. The files' own folders come first."""
MODULES = "FOREBAY_KSML_MODULES"
"""Environment variable with folders of Python modules for functions. The files' own folders come first."""
MODULE = "forebay.ksml.mounted"
"""The module with the service and its job."""
_SUFFIXES = (".yaml", ".yml")


class Mounted(NamedTuple):
    """Definitions as a service and its job."""

    definitions: Definitions
    service: Service
    job: Job


def files_of(paths: Sequence[Path]) -> list[Path]:
    """Return the definition files at paths. The files of a folder are sorted by name. Raises KsmlError.

    The configuration of KSML's runner, which is often in the same folder, is left out.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES and file.is_file())
            inside = [file for file in inside if not _is_of_runner(file)]
            if not inside:
                raise refusal(str(path), 1, "there is no definition in the folder: put a file name.yaml into it")
            files += inside
        else:
            files.append(path)
    return files


def _is_of_runner(file: Path) -> bool:
    return re.search(r"^ksml:", file.read_text(encoding="utf-8", errors="replace"), re.MULTILINE) is not None


def read_all(
    paths: Sequence[Path],
    schemas: Sequence[Path] = (),
    modules: Sequence[Path] = (),
    registry: Registry | None = None,
) -> Definitions:
    """Return the definitions of files. Raises KsmlError."""
    files = files_of(paths)
    folders = list(dict.fromkeys(file.parent for file in files))
    for folder in (*folders, *modules):
        add_modules(str(folder.resolve()))
    return definitions([read_definition(file) for file in files], SchemaFiles([*folders, *schemas], registry))


def mount(
    name: str,
    paths: Sequence[Path],
    schemas: Sequence[Path] = (),
    modules: Sequence[Path] = (),
    registry: Registry | None = None,
) -> Mounted:
    """Return the service of definition files. Raises KsmlError."""
    definitions = read_all(paths, schemas, modules, registry)
    described = job_of(definitions)
    digest = hashlib.blake2b(digest_size=6)
    for text in (*(file.text for file in definitions.files), *definitions.formats.contracts.values()):
        digest.update(text.encode())
    settings = make_dataclass(
        "MountedSettings", [("definitions", str, field(default=digest.hexdigest()))], bases=(KsmlSettings,), frozen=True
    )
    job = replace(described, settings=settings)
    return Mounted(definitions, _service(name, definitions, job), job)


def _service(name: str, definitions: Definitions, job: Job) -> Service:
    tables = {node.string("topic") for file in definitions.files for node in _tables(file)}
    return Service(
        name=name,
        summary=f"KSML: {', '.join(Path(file.file).name for file in definitions.files)}",
        inputs=tuple(_topic(job, topic, record, tables) for topic, record in job.inputs.items()),
        outputs=tuple(_topic(job, topic, record, tables) for topic, record in job.outputs.items()),
        stores=store_contracts(job, job.settings()),
        job=MODULE,
        stages=len(job.topology),
        contracts=str(contracts_folder(definitions.formats.contracts, definitions.formats.schemas.folders)),
    )


def _tables(definition: Definition) -> list[Node]:
    return [node for name in ("tables", "globalTables") for node in definition.section(name).values()]


def _topic(job: Job, topic: str, record: type, tables: set[str]) -> Topic:
    return Topic(topic, job.contract(topic, record), config=COMPACTED if topic in tables else KEEP_FOREVER)


def service_name(paths: Sequence[Path]) -> str:
    """Return the name of a service, derived from its first file."""
    return re.sub(r"[^A-Za-z0-9.-]+", "-", paths[0].stem if paths else "ksml").strip("-.") or "ksml"


def environment(
    name: str, paths: Sequence[Path], schemas: Sequence[Path] = (), modules: Sequence[Path] = ()
) -> dict[str, str]:
    """Return the environment variables by which other processes read the same files."""
    return {
        FILES: _join(paths),
        NAME: name,
        SCHEMAS: _join(schemas),
        MODULES: _join(modules),
    }


def _join(paths: Sequence[Path]) -> str:
    return ",".join(str(path.resolve()) for path in paths)


def read_mounts(variables: Mapping[str, str] | None = None, registry: Registry | None = None) -> Mounted:
    """Return the definitions that the environment names. They are read once. Raises KsmlError."""
    given = os.environ if variables is None else variables
    files, name, schemas, modules = asked = [given.get(variable, "") for variable in (FILES, NAME, SCHEMAS, MODULES)]
    text = "\n".join(asked)
    if text not in _MOUNTED:
        _MOUNTED[text] = _mount(files, name, schemas, modules, registry)
    return _MOUNTED[text]


_MOUNTED: dict[str, Mounted] = {}
"""A cache of definitions, by the variables that name them."""


def _mount(files: str, name: str, schemas: str, modules: str, registry: Registry | None) -> Mounted:
    paths = _paths(files)
    if not paths:
        raise refusal(FILES, 1, f"{FILES} names no file: set it to the definition files, or use `forebay ksml run`")
    return mount(name or service_name(files_of(paths)), paths, _paths(schemas), _paths(modules), registry)


def _paths(text: str) -> list[Path]:
    return [Path(path.strip()) for path in text.split(",") if path.strip()]
