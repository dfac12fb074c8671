"""forebay errors: what became of records that could not be used."""

from __future__ import annotations

from typing import Any

import click

from forebay.catalog import Service
from forebay.cli.connection import connect, connection_options
from forebay.cli.lazy import CommandGroup
from forebay.cli.names import rename_topics, service_argument, topics_option
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.errors import TopicMissing
from forebay.runtime.maintenance.error_replay import ErrorReplay, Replayed


@click.group(cls=CommandGroup)
def errors() -> None:
    """Deal with records that could not be used: those of a job's .errors topic."""


@errors.command(
    epilog="""\b
Examples:
  forebay errors replay user-sessions --dry-run
  forebay errors replay user-sessions"""
)
@service_argument
@click.option("--application", help="Application id of the job. Default: SERVICE.")
@click.option("--dry-run", is_flag=True, help="Say what would be sent; send nothing.")
@topics_option
@connection_options
def replay(
    service: Service, application: str | None, *, dry_run: bool, topics: dict[str, str], **connection: Any
) -> None:
    """Send the records of SERVICE's .errors back to their input topics, unchanged: each once.

    Use it after the cause of the failures is fixed. Key, value, timestamp, headers and partition are the record's own;
    the error.* headers are left out. Every thousand are one transaction, which notes what was sent in the group
    APPLICATION-replay: if a run breaks off, run the command again; it resumes. A record that fails again is a new
    record of .errors. The job may run meanwhile. If a window is closed by now, the record goes to .late.
    """
    (service,) = rename_topics((service,), topics)
    kafka = connect(**connection)
    name = application or service.name
    topic = service.as_application(name).errors.name
    inputs = [topic_of_service.name for topic_of_service in service.inputs]
    partitions = TopicAdmin(kafka).partitions([topic, *inputs])
    missing = [topic_name for topic_name in (topic, *inputs) if topic_name not in partitions]
    if missing:
        raise TopicMissing(f"there is no topic {', '.join(missing)}: `forebay topics create {service.name}` creates it")
    run = ErrorReplay(kafka, name, topic, {topic_name: partitions[topic_name] for topic_name in inputs})
    if dry_run:
        _show(run.look(), "would be sent", f"nothing was sent: `forebay errors replay {service.name}` sends them")
        return
    done = run.run(lambda so_far: click.echo(f"{so_far.sent.total()} sent", err=True))
    _show(done, "sent", "")


def _show(done: Replayed, verb: str, hint: str) -> None:
    if not done.sent and not done.passed_over:
        click.echo("nothing to send: no record failed since the last replay")
        return
    for (topic, reason), count in done.sent.most_common():
        click.echo(f"{_records(count)} {verb} to {topic}: {reason}")
    for why, count in done.passed_over.most_common():
        click.echo(f"{_records(count)} passed over: {why}")
    if hint and done.sent:
        click.echo(hint)


def _records(count: int) -> str:
    return f"{count} record{'' if count == 1 else 's'}"
