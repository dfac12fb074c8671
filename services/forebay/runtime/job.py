"""How a service's job.py says what it is made of."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from forebay.processor.api import AnyProcessor


@dataclass(frozen=True, slots=True)
class Job:
    """The wiring of one service. Contracts have the records' class names.

    Args:
        inputs: record type by input topic.
        output: record type of the output topic.
        settings: frozen dataclass of the logic's settings, all with defaults.
        processor: makes the logic from its settings.
    """

    inputs: Mapping[str, type[Any]]
    output: type[Any]
    settings: type[Any]
    processor: Callable[[Any], AnyProcessor]


def load_job(module: str) -> Job:
    """Import a service's job.py."""
    job = importlib.import_module(module).JOB
    assert isinstance(job, Job)
    return job
