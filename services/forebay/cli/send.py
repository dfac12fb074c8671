"""forebay send: one record, written in the format that a service declares for its topic."""

from __future__ import annotations

from typing import Any

import click

from forebay.catalog import all_services
from forebay.cli.connection import connect, connection_options
from forebay.kafka.registry import shared_registry
from forebay.queries.outgoing import WrongRecord, encode_record
from forebay.queries.sending import send_records
from forebay.serde.subjects import connect_when_asked


@click.command(
    epilog="""\b
Examples:
  forebay send page_counts_events --key ada \
    '{"event_id": "e-1", "kind": "purchase", "amount": 4.5, "timestamp": 1700000000000}'
  forebay send menu_prices --key pizza --tombstone      deletes the row of a table

The fields are those of the topic's record: `forebay services SERVICE` names its topics. For records in bulk:
`forebay produce`. For jobs in SQL: INSERT INTO ... VALUES in `forebay sql`."""
)
@click.argument("topic")
@click.argument("value", required=False)
@click.option("--key", help="The record's key. Default: no key.")
@click.option("--tombstone", is_flag=True, help="Send no value, which deletes the key's row of a table.")
@click.option("--timestamp", type=click.IntRange(min=0), help="The record's time, ms since the epoch. Default: now.")
@connection_options
def send(
    topic: str, value: str | None, *, key: str | None, tombstone: bool, timestamp: int | None, **connection: Any
) -> None:
    """Write one record to TOPIC. VALUE is JSON; key and value are encoded as the topic's service declares.

    The contracts of Avro values are registered with the schema registry.
    """
    if (value is None) != tombstone:
        raise click.UsageError(
            'specify a value, such as \'{"name": "a"}\''
            if value is None
            else "--tombstone sends no value: omit the value or --tombstone"
        )
    if tombstone and key is None:
        raise click.UsageError("--tombstone deletes the row of a key: add --key")
    kafka = connect(**connection)
    connect_when_asked(lambda: shared_registry(kafka.registry()))
    try:
        record = encode_record(topic, key, value, timestamp, all_services().values(), kafka)
    except WrongRecord as error:
        raise click.UsageError(str(error)) from error
    send_records(kafka, [record])
    click.echo(f"{record.topic}: 1 record sent")
