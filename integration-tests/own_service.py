"""A service for one test: a job of a test module under a name in the table of services, with its topics."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from job_process import PYTHON_PATH
from own_topics import settings_of

from forebay.catalog import find_service
from forebay.cli.main import run
from forebay.kafka.admin import TopicAdmin
from forebay.platform import Endpoints

_ENTRY = """
from forebay.service.agreement import store_contracts
from forebay.catalog import Service, Topic
from {module} import JOB

SERVICE = Service(
    name="{name}",
    summary="a test's own",
    inputs=tuple(Topic(name, partitions=1 if name in {single} else {tasks}) for name in JOB.inputs),
    outputs=tuple(Topic(name, partitions={tasks} if name in JOB.inputs else 1) for name in JOB.outputs),
    stores=store_contracts(JOB, JOB.settings()),
    job="{module}",
    stages=len(JOB.topology),
)
"""


@dataclass(frozen=True)
class OwnService:
    """A service that is in the table, and whose topics exist.

    Args:
        command: arguments of `forebay run`: its name and the connection.
        environment: in which another process finds it, too.
    """

    name: str
    command: list[str]
    environment: dict[str, str]


@contextmanager
def own_service(
    name: str, module: str, tasks: int, endpoints: Endpoints, folder: Path, single: tuple[str, ...] = ()
) -> Iterator[OwnService]:
    """Register a job and create its topics; delete them at the end.

    Args:
        module: of the job, which is its `JOB`.
        tasks: partitions of its inputs.
        folder: for the entry and the job's checkpoint.
        single: inputs with one partition.
    """
    entry = f"{name.replace('-', '_')}_entry"
    (folder / f"{entry}.py").write_text(_ENTRY.format(name=name, module=module, tasks=tasks, single=single))
    connection = [
        *("--bootstrap-servers", endpoints.bootstrap_servers, "--schema-registry-url", endpoints.registry_url),
        *("--home", str(folder / "home")),
    ]
    environment = {"FOREBAY_SERVICES": entry, "PYTHONPATH": os.pathsep.join([str(folder), PYTHON_PATH])}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FOREBAY_SERVICES", entry)
        patch.syspath_prepend(str(folder))
        assert run(["topics", "create", name, *connection]) == 0
        yield OwnService(name, [name, *connection], environment)
        topics = find_service(name).topics(name, tasks)
        TopicAdmin(settings_of(endpoints)).delete([topic.name for topic in topics])
        sys.modules.pop(entry)
