"""forebay tail: a topic's committed records as JSON lines."""

from __future__ import annotations

from typing import Any

import click

from forebay.cli.connection import connect, connection_options
from forebay.kafka.registry import shared_registry
from forebay.kafka.render import Renderer
from forebay.kafka.tail import Beginning, End, Since, Start, Tail
from forebay.queries.contents import known_contents
from forebay.time.moments import parse_moment

_SIDE_TOPICS = (".errors", ".late")


class StartType(click.ParamType[Start]):
    """A place to start: `beginning`, `end`, ms since the epoch, or a date and time in ISO 8601 (by default in UTC)."""

    name = "beginning|end|time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Start:
        """Return the place to start."""
        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        if value in ("beginning", "end"):
            return Beginning() if value == "beginning" else End()
        try:
            return Since(parse_moment(value))
        except ValueError:
            self.fail(
                f"{value!r} is not a place to start: beginning, end, milliseconds since the epoch (1700000000000), "
                "or a date and time (2024-01-31T12:00:00Z)",
                param,
                ctx,
            )


@click.command(
    epilog="""\b
Examples:
  forebay tail user_session_stats
  forebay tail user_session_stats --from beginning --count 5
  forebay tail user-sessions.errors --from 2024-01-31T12:00:00Z --no-follow
  forebay tail user_activity --no-follow --key user-000042 | jq .value.page"""
)
@click.argument("topic")
@click.option(
    "--from",
    "start",
    type=StartType(),
    envvar="FOREBAY_TAIL_FROM",
    help="Where to start. Default: the end when following, else the beginning.",
)
@click.option("--count", type=click.IntRange(min=1), help="Stop after this many records.")
@click.option("--wait-seconds", type=click.FloatRange(0), help="With --count: fail if fewer have arrived by then.")
@click.option("--follow/--no-follow", default=True, help="Wait for more, or stop at the current end.")
@click.option("--key", help="Only records with this key.")
@click.option("--headers/--no-headers", default=None, help="Show headers. Default: for .errors and .late topics.")
@connection_options
def tail(
    topic: str,
    *,
    start: Start | None,
    count: int | None,
    wait_seconds: float | None,
    follow: bool,
    key: str | None,
    headers: bool | None,
    **connection: Any,
) -> None:
    """Print a topic's committed records, decoded: one JSON object per line, until Ctrl-C.

    Topics and changelogs of a service are decoded in the formats that its job declares. Other values are printed as
    Avro, JSON, text or hexadecimal digits, with a note.
    """
    if wait_seconds is not None and count is None:
        raise click.UsageError("--wait-seconds needs --count, the number of records to wait for")
    settings = connect(**connection)
    with_headers = topic.endswith(_SIDE_TOPICS) if headers is None else headers
    contents = known_contents(topic, settings)
    renderer = Renderer(shared_registry(settings.registry()), with_headers, contents)
    key_bytes = None if key is None else key.encode()
    left = count
    with Tail(settings, topic) as records:
        try:
            for record in records.read(start or (End() if follow else Beginning()), follow, wait_seconds):
                if key_bytes is not None and record.key() != key_bytes:
                    continue
                click.echo(renderer.line(record))
                left = None if left is None else left - 1
                if left == 0:
                    break
        except KeyboardInterrupt:
            raise SystemExit(130) from None
