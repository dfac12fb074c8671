"""forebay produce: write synthetic events to a topic."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console

from forebay.cli.connection import connect, connection_options
from forebay.cli.names import topics_option
from forebay.cli.sending import Sending, sending_for
from forebay.cli.signals import stop_requests
from forebay.cli.topic_creation import create_input
from forebay.cli.watched_files import watch_given_folder
from forebay.codec import Codec, Unavailable
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.codecs import register_contract, registry_codec
from forebay.kafka.registry import shared_registry
from forebay.kafka.settings import KafkaSettings
from forebay.platform import Platform
from forebay.producing.base import Options, Source
from forebay.producing.run import produce as send
from forebay.producing.send import Sent
from forebay.producing.sources import source_of
from forebay.runtime.process.logs import configure_logging
from forebay.serde import Schema
from forebay.time.moments import parse_moment
from forebay.utils.names import IllegalName, check_name

_ANSWER_S = 10.0
_SHARE = click.FloatRange(0, 1)


class SourceType(click.ParamType[Source]):
    """The name of a topic for which there is a producer of synthetic events."""

    name = "topic"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Source:
        """Return the topic's source. Fail for an unknown topic with a list of the topics."""
        try:
            return source_of(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class MomentType(click.ParamType[int]):
    """A moment: milliseconds since the epoch, or a date and time in ISO 8601 (by default in UTC)."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the moment in ms since the epoch."""
        if isinstance(value, int):
            return value
        try:
            return parse_moment(value)
        except ValueError:
            self.fail(
                f"{value!r} is not a time: specify milliseconds since the epoch (1735689600000) or a date and time "
                "(2025-01-01T00:00:00Z).",
                param,
                ctx,
            )


@click.command(
    epilog="""\b
Examples:
  forebay produce user_activity                        1000 events/s until Ctrl-C
  forebay produce user_activity --rate 0 --count 2000000 --keys 100000
  forebay produce user_activity --duration 60 --out-of-order 0.05 --duplicates 0.01 --malformed 0.001

`forebay services` lists the topics. The same options and start time produce the same events, byte for byte."""
)
@click.argument("source", metavar="TOPIC", type=SourceType())
@click.option("--rate", type=click.FloatRange(min=0), default=1000.0, help="Events a second; 0: as fast as possible.")
@click.option("--count", type=click.IntRange(min=0), default=0, help="Total number of events; 0: unlimited.")
@click.option("--duration", type=click.FloatRange(min=0), default=0.0, help="Seconds to run; 0: unlimited.")
@click.option("--keys", type=click.IntRange(min=1), default=1000, help="Number of different keys (users, devices ...).")
@click.option("--seed", type=int, default=1, help="Seed of the random events. Another seed produces other events.")
@click.option("--out-of-order", type=_SHARE, default=0.0, help="Share of events that are sent out of order.")
@click.option("--duplicates", type=_SHARE, default=0.0, help="Share of events that repeat an earlier one.")
@click.option("--malformed", type=_SHARE, default=0.0, help="Share of malformed records, of all kinds.")
@click.option(
    "--start",
    "start_ms",
    type=MomentType(),
    envvar="FOREBAY_PRODUCE_START",
    help="Event time of the first event: ISO 8601 or ms. Default: now; with --rate 0: 2025-01-01T00:00:00Z.",
)
@topics_option
@connection_options
def produce(
    source: Source,
    *,
    rate: float,
    count: int,
    duration: float,
    keys: int,
    seed: int,
    out_of_order: float,
    duplicates: float,
    malformed: float,
    start_ms: int | None,
    topics: dict[str, str],
    **connection: Any,
) -> None:
    """Write synthetic events to TOPIC, until Ctrl-C, --count or --duration.

    On a broker other than the embedded one, the topic must exist (`forebay topics create`). The command registers the
    topic's contract if necessary.
    """
    try:
        options = Options(
            rate=rate,
            count=count or None,
            duration_s=duration or None,
            keys=keys,
            seed=seed,
            out_of_order=out_of_order,
            duplicates=duplicates,
            malformed=malformed,
            start_ms=start_ms,
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    _require_named(source, topics)
    topic = topics.get(source.topic, source.topic)
    if not (count or duration):
        watch_given_folder()
    _require_running(**connection)
    settings = connect(**connection)
    try:
        if not connection["bootstrap_servers"]:
            create_input(settings, source.service, source.topic, topic)
        with sending_for(Console(), topic) as sending:
            configure_logging("text")
            sent = _send(source, topic, options, settings, sending)
    except Unavailable as error:
        raise click.ClickException(f"{error}. `forebay up` starts the embedded platform.") from error
    click.echo(_summary(topic, sent))
    if sent.failed:
        raise click.ClickException(f"{sent.failed:,} events were not accepted by the broker: {sent.last_error}")


def _require_running(home: Any, bootstrap_servers: str | None, schema_registry_url: str | None, **_: Any) -> None:
    """Raise click.ClickException at once if the embedded platform is down, instead of waiting for its answer."""
    if bootstrap_servers and schema_registry_url:
        return
    status = Platform(home).status()
    if status.components and not status.running:
        raise click.ClickException(f"the platform in {status.home} doesn't run: `forebay up` starts it.")


def _require_named(source: Source, topics: dict[str, str]) -> None:
    for name, topic in topics.items():
        if name != source.topic:
            raise click.UsageError(
                f"--topic: the producer writes {source.topic}, not {name}: use --topic {source.topic}={topic}"
            )
    try:
        check_name(topics.get(source.topic, source.topic))
    except IllegalName as error:
        raise click.UsageError(f"--topic: {error}") from error


def _send(source: Source, topic: str, options: Options, settings: KafkaSettings, sending: Sending) -> Sent:
    TopicAdmin(settings, _ANSWER_S).topic_ids([topic])
    registry = shared_registry(settings.registry())
    codec: Codec[Any] | None = None
    if source.contract:
        contract = register_contract(registry, source.service, source.contract, topic)
        codec = registry_codec(settings, source.service, source.record_type, contract.schema_id)
    with stop_requests() as stop:

        def should_stop() -> bool:
            if stop.is_set():
                sending.stopping()
            return stop.is_set()

        return send(
            source.topic,
            options,
            settings.producer(),
            codec,
            lambda subject, text: registry.register(subject, Schema(text)).schema_id,
            on_progress=sending.sent,
            should_stop=should_stop,
            to=topic,
        )


def _summary(topic: str, sent: Sent) -> str:
    rate = f", {sent.records / sent.seconds:,.0f}/s" if sent.seconds > 0.5 else ""
    return f"{topic}: {sent.records:,} events in {sent.seconds:.1f} s{rate}"
