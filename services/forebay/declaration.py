"""A service's entry in the table of services, made from its job: what the job says is not said a second time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from forebay.agreement import store_contracts
from forebay.catalog import COMPACTED, KEEP_FOREVER, Service, Topic
from forebay.job import Job, load_job

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
    """Return the entry of a job: topics, stores and stages are the job's.

    Args:
        name: as given to the command line; also the contracts' folder and the default application id.
        summary: what it does, in a line.
        job: module that has it as `JOB`.
        made: the same, where it is there already.
        producers: modules that make events for its inputs (`SOURCE`).
        compacted: outputs of which the last record of a key is what counts; all others are kept for ever.
        partitions: of topics that are created with another number than PARTITIONS.
        columns: module that says which fields the demo shows of its outputs (`COLUMNS`).
        contracts: folder of its contracts; "": where Service looks for them.
        settings: of the logic, for stores that depend on them; its defaults unless given.

    Raises:
        Mistake: the module has no job. ValueError: a topic named here is none of the job's; says which there are.
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


def _require(what: str, said: Collection[str], there: Mapping[str, type[Any]]) -> None:
    unknown = sorted(set(said) - there.keys())
    if unknown:
        raise ValueError(f"{what}: {', '.join(unknown)}: the job has no such topic: choose from {', '.join(there)}")
