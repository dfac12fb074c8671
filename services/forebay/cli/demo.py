"""forebay demo: everything at once, with a live view."""

from __future__ import annotations

import os
from pathlib import Path

import click
from rich.console import Console

from forebay.catalog import Service, all_services, find_service
from forebay.cli.check import try_service
from forebay.cli.names import rename_topics, services_argument, topics_option
from forebay.cli.options import home_option
from forebay.demo.memory import LEAST_HEAP_MB, available_mb, heap_mb
from forebay.demo.plan import DUPLICATES, MALFORMED, OUT_OF_ORDER, DemoPlan, PlatformAfter
from forebay.demo.run import Demo
from forebay.demo.show import show_for
from forebay.platform.progress import progress_for

DEFAULT = "user-sessions"
RATE = 1000.0
SHARED_RATE = 200.0
_CONNECTION = ("FOREBAY_BOOTSTRAP_SERVERS", "FOREBAY_SCHEMA_REGISTRY_", "FOREBAY_KAFKA_")


@click.command(
    epilog="""\b
Examples:
  forebay demo
  forebay demo --rate 5000 --keys 100000
  forebay demo user-sessions windowed-metrics
  forebay demo --disorder
  forebay demo --all --duration 60 --keep-platform

`forebay services` lists the services."""
)
@services_argument
@click.option("--all", "every", is_flag=True, envvar="FOREBAY_DEMO_ALL", help="Run all services.")
@home_option
@click.option(
    "--rate",
    type=click.FloatRange(0.1, 1_000_000),
    help=f"Events a second on each input topic. Default: {RATE:.0f}; several services share {SHARED_RATE:.0f}.",
)
@click.option("--keys", type=click.IntRange(min=1), default=1000, help="Number of different keys (users, devices ...).")
@click.option("--seed", type=int, default=1, help="Seed of the random events. Another seed produces other events.")
@click.option("--duration", type=click.FloatRange(min=0), default=0.0, help="Seconds to run; 0: until Ctrl-C.")
@click.option(
    "--memory",
    "memory_mb",
    type=click.IntRange(min=LEAST_HEAP_MB),
    envvar="FOREBAY_DEMO_MEMORY",
    help="Heap of the jobs' JVM in MB. Default: by available memory, at most 1024.",
)
@click.option(
    "--http-port",
    type=click.IntRange(1, 65_000),
    help="Port of the jobs' health and metrics. Default: a free one.",
)
@topics_option
@click.option(
    "--console-port", type=click.IntRange(1, 65_535), help="Port of the console. Default: 7080, or a free one."
)
@click.option("--no-console", is_flag=True, help="Serve no console.")
@click.option(
    "--disorder",
    is_flag=True,
    help=f"Send {OUT_OF_ORDER:.0%} of the events late, {DUPLICATES:.0%} twice, and {MALFORMED:.1%} broken.",
)
@click.option("--keep-platform", is_flag=True, help="Leave broker and registry running at the end.")
def demo(
    services: tuple[Service, ...],
    home: Path,
    *,
    every: bool,
    rate: float | None,
    keys: int,
    seed: int,
    duration: float,
    memory_mb: int | None,
    http_port: int | None,
    topics: dict[str, str],
    console_port: int | None,
    no_console: bool,
    disorder: bool,
    keep_platform: bool,
) -> None:
    """Run SERVICES (default: user-sessions) on the embedded platform with synthetic events, and show a live view.

    The command starts the platform (the first start downloads about 140 MB), creates topics, runs a producer for each
    input topic and the services' jobs in one Spark process, and shows rates, lag, times, state and the latest results.
    The events are complete and in order; with --disorder, some are late, repeated or malformed. Ctrl-C stops everything
    cleanly. The next demo continues where this one stopped.
    """
    if every and services:
        raise click.UsageError("--all runs every service: name services or use --all, not both")
    once = {service.name: service for service in services or (find_service(DEFAULT),)}
    table = (all_services() if every else once).values()
    chosen = rename_topics(table, topics)
    for service in table:
        try_service(service, {})
    _forget_other_brokers()
    plan = DemoPlan(
        home=home.absolute(),
        services=chosen,
        rate=rate or (RATE if len(chosen) == 1 else SHARED_RATE / len(chosen)),
        keys=keys,
        seed=seed,
        memory_mb=memory_mb or heap_mb(len(chosen), available_mb()),
        duration_s=duration or None,
        http_port=http_port or 0,
        disorder=disorder,
        console_port=None if no_console else console_port or 0,
        platform_after=PlatformAfter.KEEP if keep_platform else PlatformAfter.STOP,
    )
    console = Console()
    Demo(plan, show_for(console), progress_for(console)).run()


def _forget_other_brokers() -> None:
    """Drop connection settings from the environment: the demo and its children use the embedded platform only."""
    for name in [name for name in os.environ if name.startswith(_CONNECTION)]:
        del os.environ[name]
