"""The options of `forebay run`: what an operator may choose for a job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import click

from forebay.catalog import MAX_DOWNTIME_MS
from forebay.cli.names import pairs, topics_option
from forebay.cli.options import spark_secret_option
from forebay.processor.engine_settings import Emit
from forebay.runtime.driver.plan import Trigger
from forebay.runtime.process.logs import FORMATS
from forebay.runtime.process.memory import batch_bytes, memory_bytes
from forebay.runtime.protocol.gaps import AcceptedGaps, WrongGap
from forebay.runtime.spec import StartFrom, Tables
from forebay.runtime.task.pacing import Limits

Command = TypeVar("Command", bound=Callable[..., Any])


logic_option = click.option(
    "--set",
    "logic",
    multiple=True,
    metavar="NAME=VALUE",
    callback=pairs,
    help="A setting of the service's logic; `forebay services SERVICE` lists them.",
)


def _start(_context: click.Context, parameter: click.Parameter, text: str) -> StartFrom:
    if text in ("earliest", "latest"):
        return StartFrom(text)
    if text.isdecimal():
        return StartFrom("timestamp", int(text))
    raise click.BadParameter(f"{text!r}: specify earliest, latest, or a time in ms since the epoch", param=parameter)


def _gaps(_context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    try:
        AcceptedGaps.parse(texts)
    except WrongGap as error:
        raise click.BadParameter(str(error), param=parameter) from error
    return texts


def _number(name: str, default: int, text: str, low: int = 0, high: int | None = None) -> Any:
    return click.option(name, type=click.IntRange(low, high), default=default, help=text)


def _choice(name: str, values: list[str], text: str) -> Any:
    return click.option(name, type=click.Choice(values), default=values[0], help=text)


_TRIGGER = _choice(
    "--trigger", [trigger.value for trigger in Trigger], "When the job ends: never, or once all is read."
)
_OPTIONS = (
    click.option("--application", help="Prefix of changelogs, groups, transactional ids. Default: SERVICE."),
    click.option("--checkpoint", help="Spark's: a directory or URL. Default: <home>/checkpoints/<application>."),
    _number("--tasks", 0, "State tasks, fixed at first start. 0: as many as the input has partitions."),
    _number(
        "--groups",
        0,
        "Task groups, each one process's work, fixed at first start. 0: as many as slots; with --executors: as tasks.",
    ),
    click.option(
        "--starting-offsets",
        default="earliest",
        callback=_start,
        help="earliest, latest, or a time in ms since the epoch; counts at first start only.",
    ),
    logic_option,
    topics_option,
    _choice(
        "--emit", [emit.value for emit in Emit], "Every output, or of tables' rows the last one per key and commit."
    ),
    _number("--dedupe-retention-ms", 600_000, "Stream time for which event ids are remembered; 0: not at all."),
    _number(
        "--commit-interval-ms",
        0,
        "Time between two commits of a group that has caught up. 0: 25 to 100, twice as long as a commit takes.",
        0,
        60_000,
    ),
    _number("--checkpoint-interval-ms", 30_000, "Time between two snapshots of a task.", 1_000, 600_000),
    _number("--max-records-per-commit", 50_000, "Most records of a group's commit in a backlog.", low=1),
    click.option(
        "--max-bytes-per-commit",
        type=click.IntRange(0),
        help="The same in bytes; 0: any. Default: a 16th of the memory, at most 256 MiB.",
    ),
    _number(
        "--max-downtime-ms",
        MAX_DOWNTIME_MS,
        "Longest downtime to survive: compacted inputs must keep records as long (min.compaction.lag.ms). 0: any.",
    ),
    click.option(
        "--accept-gap",
        multiple=True,
        metavar="TOPIC[:PARTITION]",
        callback=_gaps,
        help="Continue behind records of this input that were deleted before the job read them. Repeatable, "
        "or with commas.",
    ),
    _number(
        "--max-state-bytes",
        0,
        "Most that a task's state may take. 0: half of the worker's memory; of persistent tables 4 GB of disk.",
    ),
    click.option(
        "--max-error-rate",
        type=click.FloatRange(0, 1),
        default=0.5,
        help="Share of a task's latest 1,000 records that may fail before the job stops, from 100 failures on. "
        "0: it stops at the first one; 1: any.",
    ),
    _choice("--tables", [tables.value for tables in Tables], "Where tables are kept while a worker lives."),
    click.option("--table-directory", default="", help="Of persistent tables. Default: the system's temporary one."),
    _number(
        "--table-memory-bytes", 0, "Most memory for pages of a worker's persistent tables. 0: a quarter of its memory."
    ),
    click.option("--standby-directory", default="", help="Where `forebay standby` keeps warm copies on this machine."),
    _number("--transaction-timeout-ms", 60_000, "Longest time a commit's transaction may take.", low=1_000),
    _number("--slots", 1, "Task groups at the same time on this machine, each in a Python process of its own.", low=1),
    click.option("--memory", default="1g", help="Heap of the JVM, such as 700m; 480m or more."),
    click.option("--executors", default="", help="On Kubernetes: the Deployment whose pods run the tasks."),
    click.option("--driver-host", default="", help="With --executors: name under which they reach this process."),
    spark_secret_option,
    click.option(
        "--conf",
        multiple=True,
        metavar="KEY=VALUE",
        callback=pairs,
        help="A Spark setting; changes to those exactly-once rests on are refused.",
    ),
    click.option("--http-host", default="127.0.0.1", help="Address of /healthz, /readyz and /metrics."),
    _number("--http-port", -1, "Their port; 0: a free one, -1: none.", low=-1, high=65_535),
    _choice("--log-format", list(FORMATS), "Log lines for people or for collectors."),
)


def job_options(command: Command) -> Command:
    """Add the options of a job."""
    with_trigger: Command = _TRIGGER(command)
    return ending_job_options(with_trigger)


def ending_job_options(command: Command) -> Command:
    """Add the options of a job that ends by itself."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def engine_fields(options: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a JobSpec that the options set."""
    limit = options["max_bytes_per_commit"]
    most = batch_bytes(memory_bytes()) if limit is None else limit
    limits = Limits(options["max_records_per_commit"], most, checkpoint_interval_ms=options["checkpoint_interval_ms"])
    if interval := options["commit_interval_ms"]:
        limits = replace(limits, commit_interval_ms=interval, shortest_interval_ms=interval)
    names = (
        *("dedupe_retention_ms", "max_state_bytes", "max_error_rate", "table_directory", "standby_directory"),
        *("table_memory_bytes", "transaction_timeout_ms", "log_format"),
    )
    return {
        "accept_gaps": options["accept_gap"],
        "emit": Emit(options["emit"]),
        "limits": limits,
        "start": options["starting_offsets"],
        "tables": Tables(options["tables"]),
        **{name: options[name] for name in names},
    }
