"""Modules import only from their own or lower layers of the library and packages of the runtime (docs/layers.md)."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SERVICES = ROOT / "services"
PAGE = (ROOT / "docs/layers.md").read_text()
QUOTED = re.compile(r"`([^`]+)`")
REST = "forebay.runtime"


def table(header: str) -> list[list[str]]:
    """Return the rows of the table with this header as lists of cells, the top row first."""
    _, _, behind = PAGE.partition(f"\n{header}\n")
    lines = []
    for line in behind.splitlines()[1:]:
        if not line.startswith("|"):
            break
        lines.append([cell.strip() for cell in line.strip("|").split("|")])
    return lines


def names(cell: str) -> list[str]:
    return QUOTED.findall(cell)


def room(cell: str) -> list[str]:
    """Return the modules of a package in the table. If the cell names none, it means the runtime itself."""
    results = [f"{REST}.{name.removesuffix('/').removesuffix('.py')}" for name in names(cell)]
    return results or [REST]


LAYERS = [names(row[0]) for row in table("| layer | holds | libraries |")]
LIBRARIES = [set(names(row[2])) for row in table("| layer | holds | libraries |")]
ROOMS = [room(row[0]) for row in table("| package | holds |")]


def level(module: str, levels: Sequence[Sequence[str]]) -> int | None:
    """Return the number of the row whose most specific entry contains a module, or None."""
    entries = [
        (len(entry), at) for at, row in enumerate(levels) for entry in row if f"{module}.".startswith(f"{entry}.")
    ]
    return max(entries)[1] if entries else None


def imports(source: str, module: str) -> Iterator[str]:
    """Return the imports of a module's text, at any depth."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module} imports relatively: name the package"
            assert node.module is not None
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def modules() -> Iterator[tuple[str, str]]:
    """Return the name and text of every module of the library."""
    for file in sorted((SERVICES / "forebay").rglob("*.py")):
        parts = file.relative_to(SERVICES).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), file.read_text()


MODULES = dict(modules())


def upward(module: str, source: str) -> list[str]:
    """Return the violations in a module's imports."""
    mine, my_room = level(module, LAYERS), level(module, ROOMS)
    if mine is None:
        return [f"{module} is in no layer of docs/layers.md: add it to one"]
    wrong = []
    allowed = set().union(*LIBRARIES[mine:])
    for name in imports(source, module):
        top, theirs, their_room = name.partition(".")[0], level(name, LAYERS), level(name, ROOMS)
        if top != "forebay":
            if top not in sys.stdlib_module_names and top not in allowed:
                wrong.append(f"{module} imports the library {top}, which its layer has not")
        elif theirs is not None and theirs < mine:
            wrong.append(f"{module} imports {name}, of a layer above")
        elif my_room is not None and their_room is not None and their_room < my_room:
            wrong.append(f"{module} imports {name}, of a room above")
    return wrong


@pytest.mark.parametrize("module", [name for name in MODULES if name != "forebay"])
def test_a_module_imports_nothing_from_above(module: str) -> None:
    assert upward(module, MODULES[module]) == []


def test_what_serves_a_running_job_uses_nothing_of_the_tests() -> None:
    serving = [name for name in MODULES if name.startswith(("forebay.queries", "forebay.runtime", "forebay.spark"))]
    assert not [name for name in serving for used in imports(MODULES[name], name) if used.startswith("forebay.testing")]


@pytest.mark.parametrize("entry", [entry for row in (*LAYERS, *ROOMS) for entry in row])
def test_everything_that_the_tables_list_exists(entry: str) -> None:
    assert entry in MODULES


WRONG = [
    ("forebay.stores.rows", "from forebay.processor import api"),
    ("forebay.stores.rows", "import confluent_kafka"),
    ("forebay.records", "import sortedcontainers"),
    ("forebay.kafka.admin", "from forebay.runtime.spec import JobSpec"),
    ("forebay.in_memory.loop", "from forebay.testing.driver import TestDriver"),
    ("forebay.runtime.protocol.lease", "from forebay.runtime.task import group"),
    ("forebay.runtime.task.group", "from forebay.runtime.spark.control import WorkerControl"),
    ("forebay.runtime.task.group", "import confluent_kafka"),
    ("forebay.runtime.task.group", "from forebay.runtime.worker.reader import GroupReader"),
    ("forebay.runtime.spark.source", "def late():\n    from forebay.runtime.driver import query"),
    ("forebay.newcomer", "import os"),
]


@pytest.mark.parametrize(("module", "source"), WRONG, ids=[f"{module}: {source}" for module, source in WRONG])
def test_an_upward_import_is_found(module: str, source: str) -> None:
    assert len(upward(module, source)) == 1


def test_a_downward_import_is_not_found() -> None:
    source = "import os\nfrom pyspark.sql import Row\nfrom forebay.runtime.task.group import TaskGroup"
    assert upward("forebay.runtime.spark.leases", source) == []
