"""forebay demo: everything at once, with a live view."""

from __future__ import annotations

import os
from pathlib import Path

import click
from rich.console import Console

from forebay.catalog import SERVICES, find_service
from forebay.cli.options import home_option
from forebay.demo.plan import DemoPlan, PlatformAfter
from forebay.demo.run import Demo
from forebay.demo.show import show_for
from forebay.platform.progress import progress_for

_CONNECTION = ("FOREBAY_BOOTSTRAP_SERVERS", "FOREBAY_SCHEMA_REGISTRY_", "FOREBAY_KAFKA_")


@click.command(
    epilog="""\b
Examples:
  forebay demo
  forebay demo --rate 5000 --keys 100000
  forebay demo --duration 60 --keep-platform"""
)
@click.argument("services", nargs=-1, type=click.Choice(list(SERVICES)), metavar="[SERVICE]...")
@home_option
@click.option(
    "--rate", type=click.FloatRange(0.1, 1_000_000), default=1000.0, help="Events a second on each input topic."
)
@click.option("--keys", type=click.IntRange(min=1), default=1000, help="Number of different keys (users, devices ...).")
@click.option("--seed", type=int, default=1, help="Another seed gives other events.")
@click.option("--duration", type=click.FloatRange(min=0), default=0.0, help="Seconds to go on; 0: until Ctrl-C.")
@click.option("--keep-platform", is_flag=True, help="Leave broker and registry running at the end.")
def demo(
    services: tuple[str, ...],
    home: Path,
    *,
    rate: float,
    keys: int,
    seed: int,
    duration: float,
    keep_platform: bool,
) -> None:
    """Run SERVICE (default: user-sessions) on the embedded platform, feed it, and show live what happens.

    Starts the platform (the first time it downloads about 140 MB), creates topics, runs a producer and the job as
    child processes, and shows rates, lag, times, state and the latest results. 2 % of the events come late, 1 % twice,
    0.2 % can't be used. Ctrl-C ends it all in good order; started again it goes on where it stopped.
    """
    _forget_other_brokers()
    plan = DemoPlan(
        home=home.absolute(),
        services=tuple(find_service(name) for name in dict.fromkeys(services or ("user-sessions",))),
        rate=rate,
        keys=keys,
        seed=seed,
        duration_s=duration or None,
        platform_after=PlatformAfter.KEEP if keep_platform else PlatformAfter.STOP,
    )
    console = Console()
    Demo(plan, show_for(console), progress_for(console)).run()


def _forget_other_brokers() -> None:
    """Drop connection settings from the environment: the demo and its children use the embedded platform only."""
    for name in [name for name in os.environ if name.startswith(_CONNECTION)]:
        del os.environ[name]
