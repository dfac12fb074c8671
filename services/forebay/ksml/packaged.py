"""KSML definitions inside a package as a service with its own producers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from forebay.catalog import Service
from forebay.job import Job
from forebay.ksml.mounting import mount


def ksml_service(name: str, paths: Sequence[Path], module: str, producers: Sequence[str] = ()) -> tuple[Service, Job]:
    """Return the declaration and the job of a service of definition files.

    Args:
        module: name of the module that contains both, as SERVICE and JOB.
        producers: modules that produce records for its inputs.

    Raises:
        KsmlError: a definition is wrong. The message contains file, line and remedy.
    """
    mounted = mount(name, paths)
    return replace(mounted.service, job=module, producers=tuple(producers)), mounted.job
