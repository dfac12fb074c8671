"""Creation of a service's entry in the table of services from its job, so that nothing is declared twice."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from forebay.catalog import COMPACTED, KEEP_FOREVER, Service, Topic
from forebay.job import Job, load_job
from forebay.service.agreement import store_contracts

PARTITIONS = 4


def declare(
    *,
    name: str,
    summary: str,
    job: str,
    made: Job | None = None,
    producers: tuple[str, ...] = (),
    compacted: Collection[str] = (),
    partitions: Mapping[str, int] | None = None,
    columns: str = "",
    contracts: str = "",
    settings: Any = None,
) -> Service:
    """Return the entry of a service, with the topics, stores and sub-topologies of its job.

    Args:
        name: Name on the command line. It is also the folder of the contracts and the default application id.
        summary: One line that says what the service does.
        job: Module with the job (`JOB`).
        made: The job itself, if it was already created.
        producers: Modules that generate events for its inputs (`SOURCE`).
        compacted: Outputs that are compacted. Records of all other outputs are kept forever.
        partitions: Number of partitions of topics that are not created with the default, PARTITIONS.
        columns: Module that lists the fields of outputs that the demo shows (`COLUMNS`).
        contracts: Folder of the contracts; "": the default of Service.
        settings: Settings of the logic, on which stores may depend. By default, the default settings.

    Raises:
        Mistake: The module has no job.
        ValueError: The job does not have one of the topics. The message lists the topics of the job.
    """
    counts, definition = partitions or {}, made or load_job(job)
    _require("compacted", compacted, definition.outputs)
    _require("partitions", counts, {**definition.inputs, **definition.outputs})

    def topic(topic_name: str, record: type[Any]) -> Topic:
        config = COMPACTED if topic_name in compacted else KEEP_FOREVER
        return Topic(topic_name, definition.contract(topic_name, record), counts.get(topic_name, PARTITIONS), config)

    return Service(
        name=name,
        summary=summary,
        inputs=tuple(topic(*source) for source in definition.inputs.items()),
        outputs=tuple(topic(*output) for output in definition.outputs.items()),
        stores=store_contracts(definition, definition.settings() if settings is None else settings),
        job=job,
        stages=len(definition.topology),
        producers=producers,
        contracts=contracts,
        patterns=definition.patterns,
        columns=columns,
    )


def _require(argument: str, topics: Collection[str], known: Mapping[str, type[Any]]) -> None:
    unknown = sorted(set(topics) - known.keys())
    if unknown:
        raise ValueError(f"{argument}: {', '.join(unknown)}: the job has no such topic: choose from {', '.join(known)}")
