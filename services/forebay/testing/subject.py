"""The job that a test driver runs for a topology, a processor or a service."""

from __future__ import annotations

from forebay.builder import Topology, job
from forebay.builder.notebook_view import NoSettings
from forebay.catalog import Service, find_service
from forebay.job import Job, NewInEachCall, load_job
from forebay.processor.api import AnyProcessor
from forebay.processor.codecs import Codecs
from forebay.serde import local_codec
from forebay.service.wiring import Contract
from forebay.testing.kept import KeptRecords

What = str | Service | Job | Topology | AnyProcessor


def job_of(what: What, codecs: Codecs | None, tasks: int) -> Job:
    """Return the job that a test driver runs.

    Raises:
        TypeError: A processor needs codecs.
        ValueError: A processor can't serve several tasks.
    """
    if isinstance(what, str):
        return load_job(find_service(what).job)
    if isinstance(what, Service):
        return load_job(what.job)
    if isinstance(what, Topology):
        return job(NoSettings, lambda _: what, may_end=True)
    if isinstance(what, Job):
        return what
    if codecs is None:
        raise TypeError(
            f"{type(what).__name__} is a processor: pass codecs=, or pass the topology or job that contains it"
        )
    if tasks > 1:
        kind = type(what).__name__
        raise ValueError(
            f"one {kind} can't serve {tasks} tasks: pass a topology or a job, which creates a {kind} for each task"
        )
    inputs, outputs = dict.fromkeys(codecs.inputs, object), dict.fromkeys(codecs.outputs, object)
    return Job(inputs, outputs, NoSettings, _Given(what), tables=codecs.tables)


class _Given(NewInEachCall):
    """Function that returns the processor that a test created."""

    def __init__(self, processor: AnyProcessor) -> None:
        self._processor = processor

    def __call__(self, _settings: object) -> AnyProcessor:
        return self._processor


def contracts_of(what: What) -> Contract:
    """Return the function that returns a record type's codec, from a service's contracts or without contracts."""
    if isinstance(what, str):
        return lambda _, record: local_codec(what, record)
    kept_records = KeptRecords()
    return lambda _, record: kept_records.codec(record)
