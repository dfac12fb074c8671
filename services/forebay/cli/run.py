"""forebay run: one service's job."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import click

from forebay.catalog import SERVICES
from forebay.cli.connection import connect, connection_options
from forebay.processor.engine import Emit
from forebay.runtime.app import JobApplication, JobOptions, WrongSettings
from forebay.runtime.logs import FORMATS, configure_logging
from forebay.runtime.planner import Limits
from forebay.runtime.query import Plan, Trigger
from forebay.runtime.session import SparkOptions
from forebay.runtime.spec import StartFrom, Tables


def _pairs(_context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE", param=parameter)
        pairs[name] = value
    return pairs


def _start(_context: click.Context, parameter: click.Parameter, text: str) -> StartFrom:
    if text in ("earliest", "latest"):
        return StartFrom(text)
    if text.isdecimal():
        return StartFrom("timestamp", int(text))
    raise click.BadParameter(f"{text!r}: give earliest, latest, or a time in ms since the epoch", param=parameter)


@click.command(
    epilog="""\b
Examples:
  forebay run user-sessions
  forebay run user-sessions --set idle_timeout_ms=60000 --http-port 8080
  forebay run user-sessions --trigger available-now      drain what waits, then end
  forebay run user-sessions --slots 2 --conf spark.ui.enabled=true"""
)
@click.argument("service", type=click.Choice(list(SERVICES)))
@connection_options
@click.option("--application", help="Application id: prefix of changelogs, groups, transactional ids. Default: SERVICE.")
@click.option("--checkpoint", help="Spark's checkpoint: a directory or URL. Default: <home>/checkpoints/<application>.")
@click.option("--tasks", type=click.IntRange(0), default=0, help="State tasks; fixed at first start. 0: as input partitions.")
@click.option("--starting-offsets", default="earliest", callback=_start, help="earliest, latest, or ms since the epoch; counts at first start only.")
@click.option("--trigger", type=click.Choice([t.value for t in Trigger]), default=Trigger.CONTINUOUS.value, help="When the job ends.")
@click.option("--set", "logic", multiple=True, metavar="NAME=VALUE", callback=_pairs, help="A setting of the service's logic.")
@click.option("--emit", type=click.Choice([e.value for e in Emit]), default=Emit.EVERY.value, help="Every output, or the last per key and batch.")
@click.option("--dedupe-retention-ms", type=click.IntRange(0), default=600_000, help="Stream time event ids are remembered; 0: never.")
@click.option("--max-records-per-batch", type=click.IntRange(1), default=200_000, help="Admission control, over all partitions.")
@click.option("--max-bytes-per-batch", type=click.IntRange(0), default=0, help="Admission control by average record size; 0: none.")
@click.option("--tick-ms", type=click.IntRange(0, 50_000), default=15_000, help="How often idle time passes on an idle topic; 0: never.")
@click.option("--max-state-bytes", type=click.IntRange(1), default=4_000_000_000, help="Largest table of one task.")
@click.option("--tables", type=click.Choice([t.value for t in Tables]), default=Tables.IN_MEMORY.value, help="Where tables are kept.")
@click.option("--table-directory", default="", help="Directory of persistent tables. Default: the system's temporary one.")
@click.option("--transaction-timeout-ms", type=click.IntRange(1_000), default=300_000, help="Longest time a batch's transaction may take.")
@click.option("--reader", type=click.Choice(["driver", "partitioned"]), default="driver", help="partitioned: Spark's own progress shows latest offsets, batches take longer.")
@click.option("--slots", type=click.IntRange(1), default=1, help="Tasks at the same time; more than 1 starts an executor each.")
@click.option("--memory", default="1g", help="Heap of each JVM.")
@click.option("--conf", multiple=True, metavar="KEY=VALUE", callback=_pairs, help="A Spark setting; those exactly-once rests on are refused.")
@click.option("--http-host", default="127.0.0.1", help="Address of /healthz, /readyz, /metrics.")
@click.option("--http-port", type=click.IntRange(-1, 65535), default=-1, help="Their port; 0: a free one, -1: none.")
@click.option("--log-format", type=click.Choice(FORMATS), default="text", help="Log lines for people or for collectors.")
def run(service: str, home: Path, **options: Any) -> None:
    """Run SERVICE's job until Ctrl-C or SIGTERM, which end it after the running batch.

    The topics must exist (`forebay topics create SERVICE`). Started again it goes on where it stopped.
    """
    configure_logging(options["log_format"])
    connection = {name: options.pop(name) for name in ("bootstrap_servers", "schema_registry_url", "kafka_options")}
    application = options["application"] or service
    checkpoint = options["checkpoint"] or str((home / "checkpoints" / application).resolve())
    job_options = JobOptions(
        service=service,
        kafka=connect(home=home, **connection),
        plan=Plan(checkpoint, Trigger(options["trigger"]), options["reader"]),
        application=application,
        tasks=options["tasks"],
        logic=options["logic"],
        engine=_engine(options),
        spark=SparkOptions(options["slots"], options["memory"], options["conf"]),
        http_host=options["http_host"],
        http_port=options["http_port"],
    )
    try:
        job = JobApplication(job_options)
    except WrongSettings as error:
        raise click.UsageError(str(error)) from error
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: job.stop())
    job.run()


def _engine(options: dict[str, Any]) -> dict[str, Any]:
    limits = Limits(options["max_records_per_batch"], options["max_bytes_per_batch"], options["tick_ms"])
    names = ("dedupe_retention_ms", "max_state_bytes", "table_directory", "transaction_timeout_ms", "log_format")
    return {
        "emit": Emit(options["emit"]),
        "limits": limits,
        "start": options["starting_offsets"],
        "tables": Tables(options["tables"]),
        **{name: options[name] for name in names},
    }
