"""forebay errors: replay records that a job could not process."""

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
from forebay.runtime.driver.pattern_inputs import matches
from forebay.runtime.maintenance.error_replay import ErrorReplay, Replayed


class BeginType(click.ParamType[int]):
    """Where the first replay begins: `beginning`, or an offset of `.errors`."""

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
    """Handle the records that a job could not process, from its .errors topic."""


@errors.command(
    epilog="""\b
Examples:
  forebay errors replay user-sessions --dry-run
  forebay errors replay user-sessions --from beginning   # the first time
  forebay errors replay user-sessions"""
)
@service_argument
@click.option("--application", help="Application id of the job. Default: SERVICE.")
@click.option("--dry-run", is_flag=True, help="Show what would be sent, and send nothing.")
@click.option(
    "--from",
    "begin",
    type=BeginType(),
    help="Where to begin if the group APPLICATION-replay has no position. Refused if it has one.",
)
@click.option(
    "--leave-out", "left_out", multiple=True, metavar="TOPIC", help="Skip the records of a former input permanently."
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
    """Send the records of SERVICE's .errors topic back to their input topics, unchanged and exactly once.

    Use it after the cause of the failures is fixed. Each record is sent with its original key, value, timestamp,
    headers and partition, without the error.* headers. A transaction contains at most 1,000 records, and also commits
    the position in .errors to the group APPLICATION-replay: if the command is interrupted, run it again; it resumes.
    The first replay needs --from beginning. A record that fails again is written to .errors again. The job may run
    meanwhile. A record whose window has closed goes to .late. A record that is too large for its topic is skipped, and
    the exit code is then 1.
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
        # Report skipped records at once: if a later transaction fails, the next run resumes after them.
        for why, count in (so_far.passed_over - reported).items():
            click.echo(f"{_records(count)} skipped: {why}")
        reported.update(so_far.passed_over - reported)
        click.echo(f"{so_far.sent.total()} sent", err=True)

    result = run.run(report)
    if result.sent or not result.passed_over:
        _show(Replayed(result.sent), "sent", "")
    if result.too_large:
        raise click.ClickException(
            f"{_records(result.too_large)} of {topic} skipped permanently, because they are larger than "
            "max.message.bytes of their input topic. The lines above name the offsets"
        )


def _max_bytes(kafka: KafkaSettings, inputs: list[str]) -> dict[str, int]:
    """Return max.message.bytes by topic; {}, with a warning, if the broker refuses to describe the topics."""
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
