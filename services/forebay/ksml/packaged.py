"""KSML definitions inside a package as a service of the table, with producers of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from forebay.catalog import Service
from forebay.job import Job
from forebay.ksml.mounting import mount


def ksml_service(name: str, paths: Sequence[Path], module: str, producers: Sequence[str] = ()) -> tuple[Service, Job]:
    """Return the entry and the job of definition files.

    Args:
        module: has both, as SERVICE and JOB.
        producers: modules that make records for its inputs.

    Raises:
        KsmlError: says file, line, and what to write instead.
    """
    mounted = mount(name, paths)
    return replace(mounted.service, job=module, producers=tuple(producers)), mounted.job
