"""forebay errors: what became of records that could not be used."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from forebay.catalog import Service
from forebay.cli.connection import connect, connection_options
from forebay.cli.lazy import CommandGroup
from forebay.cli.names import rename_topics, service_argument, topics_option
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.errors import KafkaForbidden, TopicMissing
from forebay.kafka.settings import KafkaSettings
from forebay.limits.topics import UNLIMITED, TopicLimits
from forebay.runtime.driver.matched import matches
from forebay.runtime.maintenance.error_replay import ErrorReplay, Replayed


class BeginType(click.ParamType[int]):
    """Where the first replay begins: an offset of `.errors`."""

    name = "beginning|OFFSET"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if value == "beginning":
            return 0
        text = str(value)
        if not text.isdecimal():
            self.fail(f"{text!r}: specify beginning, or an offset of the topic .errors", param, ctx)
        return int(text)


@click.group(cls=CommandGroup)
def errors() -> None:
    """Deal with records that could not be used: those of a job's .errors topic."""


@errors.command(
    epilog="""\b
Examples:
  forebay errors replay user-sessions --dry-run
  forebay errors replay user-sessions --from beginning   # the first time
  forebay errors replay user-sessions"""
)
@service_argument
@click.option("--application", help="Application id of the job. Default: SERVICE.")
@click.option("--dry-run", is_flag=True, help="Say what would be sent; send nothing.")
@click.option(
    "--from", "begin", type=BeginType(), help="Where the first replay begins; refused if the position is known."
)
@click.option(
    "--leave-out", "left_out", multiple=True, metavar="TOPIC", help="Pass over the records of a former input, for good."
)
@topics_option
@connection_options
def replay(
    service: Service,
    application: str | None,
    *,
    dry_run: bool,
    begin: int | None,
    left_out: tuple[str, ...],
    topics: dict[str, str],
    **connection: Any,
) -> None:
    """Send the records of SERVICE's .errors back to their input topics, unchanged: each once.

    Use it after the cause of the failures is fixed. Key, value, timestamp, headers and partition are the record's own;
    the error.* headers are left out. A thousand records at most are one transaction, which also commits the position in
    .errors to the group APPLICATION-replay: if a run breaks off, run the command again; it resumes. The first replay
    needs --from beginning. A record that fails again is a new record of .errors. The job may run meanwhile. If a window
    is closed by now, the record goes to .late. If a record is larger than its topic takes, it is skipped, and the
    exit code is 1.
    """
    (service,) = rename_topics((service,), topics)
    kafka = connect(**connection)
    name = application or service.name
    topic = service.as_application(name).errors.name
    if service.patterns:
        service = service.with_matches(matches(service, name, TopicAdmin(kafka).names()))
    inputs = [topic_of_service.name for topic_of_service in service.inputs]
    partitions = TopicAdmin(kafka).partitions([topic, *inputs])
    missing = [topic_name for topic_name in (topic, *inputs) if topic_name not in partitions]
    if missing:
        raise TopicMissing(f"there is no topic {', '.join(missing)}: `forebay topics create {service.name}` creates it")
    if begin and partitions[topic] > 1:
        raise click.UsageError(f"--from {begin}: {topic} has {partitions[topic]} partitions: use --from beginning")
    run = ErrorReplay(
        kafka, name, topic, {topic_name: partitions[topic_name] for topic_name in inputs}, begin, left_out
    )
    if dry_run:
        would = run.look(_max_bytes(kafka, inputs))
        first = " --from beginning" if would.is_first and begin is None else ""
        _show(would, "would be sent", f"nothing was sent: `forebay errors replay {service.name}{first}` sends them")
        return
    reported: Counter[str] = Counter()

    def report(so_far: Replayed) -> None:
        # At once: if a later transaction fails, the next run resumes behind these records and does not name them.
        for why, count in (so_far.passed_over - reported).items():
            click.echo(f"{_records(count)} skipped: {why}")
        reported.update(so_far.passed_over - reported)
        click.echo(f"{so_far.sent.total()} sent", err=True)

    result = run.run(report)
    if result.sent or not result.passed_over:
        _show(Replayed(result.sent), "sent", "")
    if result.too_large:
        raise click.ClickException(
            f"{_records(result.too_large)} of {topic} skipped for good, because max.message.bytes of the input is "
            "smaller. The lines above name the offsets"
        )


def _max_bytes(kafka: KafkaSettings, inputs: list[str]) -> dict[str, int]:
    """Return max.message.bytes by topic; nothing if that can't be known."""
    try:
        descriptions = TopicAdmin(kafka).describe(inputs)
    except KafkaForbidden as error:
        click.echo(f"warning: whether records are too large for their topics is not known: {error}", err=True)
        return {}
    return {name: TopicLimits.of(name, topic.config, UNLIMITED).max_bytes for name, topic in descriptions.items()}


def _show(done: Replayed, verb: str, hint: str) -> None:
    if not done.sent and not done.passed_over:
        click.echo("nothing to send: no record failed since the last replay")
        return
    for (topic, reason), count in done.sent.most_common():
        click.echo(f"{_records(count)} {verb} to {topic}: {reason}")
    for why, count in done.passed_over.most_common():
        click.echo(f"{_records(count)} skipped: {why}")
    if hint and done.sent:
        click.echo(hint)


def _records(count: int) -> str:
    return f"{count} record{'' if count == 1 else 's'}"
