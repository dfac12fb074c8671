"""Services that consist of an SQL file in a Python package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from forebay.catalog import Service
from forebay.job import Job
from forebay.sql.service import job_of, service_of, statements_of


def sql_service(name: str, path: Path, module: str, producers: Sequence[str] = ()) -> tuple[Service, Job]:
    """Return the service and the job of a file or a folder with SQL statements.

    Args:
        name: Name of the service.
        path: The file or folder.
        module: Module that contains the results as SERVICE and JOB.
        producers: Modules that generate records for the inputs.

    Raises:
        SqlError: A statement is invalid. The message contains file, line, column, and what to write instead.
    """
    statements = statements_of(path)
    job = job_of(statements)
    return replace(service_of(path, statements, job), name=name, job=module, producers=tuple(producers)), job
