"""A service for a test, which registers a job of the test module and creates its topics."""

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
    """A registered service whose topics exist.

    Args:
        command: Arguments of `forebay run`, which are its name and the connection.
        environment: Environment variables with which other processes find the service.
    """

    name: str
    command: list[str]
    environment: dict[str, str]


@contextmanager
def own_service(
    name: str, module: str, tasks: int, endpoints: Endpoints, folder: Path, single: tuple[str, ...] = ()
) -> Iterator[OwnService]:
    """Register a job and create its topics within the context. The topics are deleted at the end.

    Args:
        module: Module that contains the job as `JOB`.
        tasks: Number of partitions of its inputs.
        folder: Folder for the service's entry and the job's checkpoint.
        single: Inputs with one partition.
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
