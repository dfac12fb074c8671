"""forebay wait: wait until broker and registry answer and topics exist."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

import click

from forebay.cli.connection import connect, connection_options
from forebay.cli.signals import terminable
from forebay.codec import Unavailable
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.errors import KafkaRefused
from forebay.kafka.registry import SchemaRegistry
from forebay.kafka.retrying import REFUSED_S, keep_trying
from forebay.runtime.process.logs import configure_logging

_ANSWER_SECONDS = 5.0
_NO_SUCH = "forebay-wait"


@click.command(
    epilog="""\b
Examples:
  forebay wait --seconds 60 --bootstrap-servers broker:9092 --schema-registry-url http://registry:8080/apis/ccompat/v7"""
)
@click.option("--seconds", type=click.FloatRange(min=0), default=300.0, help="Maximum time to wait for each.")
@click.option("--topic", "topics", multiple=True, help="Wait until this topic exists, too. Repeatable.")
@connection_options
@terminable()
def wait(seconds: float, topics: tuple[str, ...], **connection: Any) -> None:
    """Wait until the broker and the schema registry answer. The exit code is 1 if one does not answer in time."""
    configure_logging("text")
    settings = connect(**connection)
    admin = TopicAdmin(settings, _ANSWER_SECONDS)
    registry = SchemaRegistry(settings.registry(), patience_s=0)
    try:
        keep_trying(lambda: _answers(admin), seconds, refused_for=REFUSED_S)
        click.echo(f"the broker {settings.bootstrap_servers} answers")
        for topic in topics:
            keep_trying(partial(_exists, admin, topic), seconds)
            click.echo(f"the topic {topic} exists")
        # Any answer will do, so the request names a subject that need not exist.
        keep_trying(lambda: registry.compatibility(_NO_SUCH), seconds)
        click.echo(f"the registry {settings.schema_registry_url} answers")
    except Unavailable as error:
        raise click.ClickException(
            f"{error}. Check the address, whether the server runs, and whether the network allows the connection."
        ) from error


def _answers(admin: TopicAdmin) -> None:
    """Send the broker a request. A refusal is an answer, too."""
    with suppress(KafkaRefused):
        admin.partitions([_NO_SUCH])


def _exists(admin: TopicAdmin, topic: str) -> None:
    if topic not in admin.partitions([topic]):
        raise Unavailable(f"the topic {topic} does not exist (its job, or `forebay topics create`, creates it)")
