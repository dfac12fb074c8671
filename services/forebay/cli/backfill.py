"""forebay backfill: process a job's history as a Spark batch."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from forebay.catalog import Service
from forebay.cli.application import ENDING, application_of, create_topics
from forebay.cli.connection import connection_options
from forebay.cli.job_options import ending_job_options, engine_fields
from forebay.cli.names import rename_topics, service_argument
from forebay.cli.spark_options import spark_options
from forebay.kafka.secret import Secret
from forebay.kafka.settings import KafkaSettings
from forebay.utils.spelling import did_you_mean

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TOPIC, _NONE = "topic", "none"
_COMPILING = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
"""Enable code generation, which jobs disable: in a backfill, rows pass through Spark's operators."""


@click.command(
    epilog="""\b
Examples:
  forebay backfill user-sessions --from parquet:/lake/user_activity --slots 2
  forebay backfill user-sessions --from topic                 everything in the topic now
  forebay backfill price-join --from orders=parquet:/lake/orders --from prices=topic
  forebay backfill price-join --from orders=json:/lake/orders --from prices=none"""
)
@service_argument
@click.option(
    "--from",
    "sources",
    multiple=True,
    required=True,
    metavar="[TOPIC=]SOURCE",
    help="History of an input: FORMAT:PATH that Spark can read (parquet, json, orc), topic, or none. TOPIC may be "
    "left out if there is only one input.",
)
@click.option(
    "--create-topics/--no-create-topics",
    "create",
    default=None,
    help="Create missing topics. Default: only on the embedded platform.",
)
@connection_options
@ending_job_options
def backfill(service: Service, sources: tuple[str, ...], create: bool | None, home: Path, **options: Any) -> None:
    """Process the history of SERVICE's inputs as a Spark batch, then end. `forebay run` continues after it.

    Outputs, changelogs and positions are committed exactly once. If the command is interrupted, run it again: it
    resumes. --starting-offsets sets where the job then starts to read inputs whose history has no offsets.
    """
    (service,) = rename_topics((service,), options["topics"])
    chosen = histories(service, sources)
    from forebay.runtime.driver.session import build_session  # noqa: PLC0415 (Spark's imports take half a second)
    from forebay.spark import register  # noqa: PLC0415
    from forebay.spark.backfill_run import history_limits, run_backfill  # noqa: PLC0415

    options["conf"] = {**_COMPILING, **options["conf"]}
    engine, limits = engine_fields(options), history_limits()
    if click.get_current_context().get_parameter_source("max_records_per_commit") is not ParameterSource.DEFAULT:
        limits = replace(limits, max_records=options["max_records_per_commit"])
    engine["limits"] = limits
    job = application_of(service, home, {**options, **ENDING}, engine)
    if not options["bootstrap_servers"] if create is None else create:
        create_topics(service, job, options)
    spec = replace(job.prepare(), checkpoint="")
    session = build_session(f"{spec.application}-backfill", "", spark_options(options))
    try:
        with warnings.catch_warnings():
            # A job's workers are started by a script that finds this Python.
            warnings.simplefilter("ignore")
            register(session)
        frames = {topic: _read(session, job.kafka, topic, source) for topic, source in chosen.items()}
        result = run_backfill(session, spec, frames)
    finally:
        session.stop()
    click.echo(
        f"{result.records} records processed: {result.outputs} outputs, {result.errors} errors, {result.late} late. "
        f"`forebay run {service.name}` continues"
    )


def histories(service: Service, sources: tuple[str, ...]) -> Mapping[str, str]:
    """Return the source of each input's history, by topic.

    Raises:
        click.UsageError: an argument is not a source, names an unknown topic, or repeats a topic.
    """
    chosen: dict[str, str] = {}
    names = [topic.name for topic in service.inputs]
    known = {*names, *(topic.declared for topic in service.inputs)}
    for text in sources:
        topic, equals, source = text.partition("=")
        if not equals or ":" in topic:
            if len(names) > 1:
                raise click.UsageError(f"--from {text}: {service.name} reads {', '.join(names)}: write TOPIC={text}")
            topic, source = names[0], text
        if topic not in known:
            raise click.UsageError(f"--from {text}: {service.name} reads no topic {topic}{did_you_mean(topic, names)}")
        kind, colon, path = source.partition(":")
        if source not in (_TOPIC, _NONE) and not (kind and colon and path):
            raise click.UsageError(
                f"--from {text}: {source!r} is not a source: write FORMAT:PATH (such as parquet:/lake/{topic}), "
                "topic or "
                "none"
            )
        if topic in chosen:
            raise click.UsageError(f"--from {text}: {topic} has two sources: one folder may hold several files")
        chosen[topic] = source
    return chosen


def _read(session: SparkSession, kafka: KafkaSettings, topic: str, source: str) -> DataFrame | None:
    if source == _NONE:
        return None
    if source != _TOPIC:
        kind, _, path = source.partition(":")
        return session.read.format(kind).load(path)
    reader_options = {
        "bootstrapServers": kafka.bootstrap_servers,
        "schemaRegistryUrl": kafka.schema_registry_url,
        "subscribe": topic,
        "keyFormat": "bytes",
        "valueFormat": "bytes",
        "includeHeaders": "true",
        **{f"kafka.{name}": _text(value) for name, value in kafka.kafka.items()},
    }
    return session.read.format("forebay").options(**reader_options).load()


def _text(value: object) -> str:
    return value.reveal() if isinstance(value, Secret) else str(value)
