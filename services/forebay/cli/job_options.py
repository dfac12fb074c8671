"""The options of `forebay run`."""

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
    help="A setting of the service's logic. Repeatable. `forebay services SERVICE` lists them.",
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
    "--trigger", [trigger.value for trigger in Trigger], "When the job ends: never, or when all records are processed."
)
_OPTIONS = (
    click.option(
        "--application",
        help="Application id, the prefix of changelogs, groups and transactional ids. Default: SERVICE.",
    ),
    click.option(
        "--checkpoint",
        help="Directory or URL of the job's checkpoint: Spark's log of leases, and snapshots of the state. Default: "
        "<home>/checkpoints/<application>.",
    ),
    _number(
        "--tasks", 0, "Number of state tasks, fixed at the first start. 0: as many as the first input has partitions."
    ),
    _number(
        "--groups",
        0,
        "Number of task groups, each run by one process, fixed at the first start. 0: one per slot; with --executors: "
        "one per task.",
    ),
    click.option(
        "--starting-offsets",
        default="earliest",
        callback=_start,
        help="Where the first start begins to read: earliest, latest, or a time in ms since the epoch.",
    ),
    logic_option,
    topics_option,
    _choice(
        "--emit",
        [emit.value for emit in Emit],
        "Send every output, or only the latest row of each table key in a commit.",
    ),
    _number(
        "--dedupe-retention-ms",
        600_000,
        "Stream time for which event ids are kept to drop duplicates. 0: no deduplication.",
    ),
    _number(
        "--commit-interval-ms",
        0,
        "Time between two commits of a task group that has caught up. 0: twice the duration of a commit, 25 to 100.",
        0,
        60_000,
    ),
    _number("--checkpoint-interval-ms", 30_000, "Time between two snapshots of a task.", 1_000, 600_000),
    _number("--max-records-per-commit", 50_000, "Maximum records in a commit of a task group with a backlog.", low=1),
    click.option(
        "--max-bytes-per-commit",
        type=click.IntRange(0),
        help="Maximum bytes in such a commit. 0: unlimited. Default: 1/16 of the memory, at most 256 MiB.",
    ),
    _number(
        "--max-downtime-ms",
        MAX_DOWNTIME_MS,
        "Longest downtime to survive: compacted inputs must keep records that long (min.compaction.lag.ms). 0: any.",
    ),
    click.option(
        "--accept-gap",
        multiple=True,
        metavar="TOPIC[:PARTITION]",
        callback=_gaps,
        help="Continue after records of this input that were deleted before the job read them. Repeatable, or "
        "comma-separated.",
    ),
    _number(
        "--max-state-bytes",
        0,
        "Maximum size of a task's state. 0: half of the worker's memory; with persistent tables 4 GB of disk.",
    ),
    click.option(
        "--max-error-rate",
        type=click.FloatRange(0, 1),
        default=0.5,
        help="Share of a task's latest 1,000 records that may fail before the job stops, after at least 100 failures. "
        "0: stop at the first failure; 1: never stop.",
    ),
    _choice(
        "--tables", [tables.value for tables in Tables], "Where a worker keeps tables: in its memory, or in files."
    ),
    click.option(
        "--table-directory", default="", help="Directory of persistent tables. Default: the temporary directory."
    ),
    _number(
        "--table-memory-bytes",
        0,
        "Maximum memory for cached pages of a worker's persistent tables. 0: 1/4 of its memory.",
    ),
    click.option("--standby-directory", default="", help="Where `forebay standby` keeps warm copies on this machine."),
    _number("--transaction-timeout-ms", 60_000, "Maximum duration of a commit's transaction.", low=1_000),
    _number(
        "--slots", 1, "Task groups that run at the same time on this machine, each in its own Python process.", low=1
    ),
    click.option("--memory", default="1g", help="Heap of the JVM, such as 700m; 480m or more."),
    click.option("--executors", default="", help="On Kubernetes: the Deployment whose pods run the tasks."),
    click.option("--driver-host", default="", help="With --executors: host name under which they reach this process."),
    spark_secret_option,
    click.option(
        "--conf",
        multiple=True,
        metavar="KEY=VALUE",
        callback=pairs,
        help="A Spark setting. Settings that exactly-once depends on can't be changed.",
    ),
    click.option("--http-host", default="127.0.0.1", help="Address of /healthz, /readyz and /metrics."),
    _number("--http-port", -1, "Port of these pages. 0: a free port; -1: none.", low=-1, high=65_535),
    _choice("--log-format", list(FORMATS), "Format of log lines."),
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
    """Return the fields of a JobSpec that the options set, by name."""
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
