"""forebay check: whether services can run, without Spark and Kafka."""

from __future__ import annotations

import click

from forebay.catalog import Service, all_services
from forebay.check.service import check_service
from forebay.check.trial import Trial
from forebay.cli.job_options import logic_option
from forebay.cli.names import rename_topics, services_argument, topics_option
from forebay.runtime.driver.logic_settings import WrongSettings


@click.command(
    epilog="""\b
Examples:
  forebay check page-counts
  forebay check page-counts --set page_limit=50
  forebay check                                every service of the table"""
)
@services_argument
@logic_option
@topics_option
def check(services: tuple[Service, ...], logic: dict[str, str], topics: dict[str, str]) -> None:
    """Load SERVICES' entries, jobs, settings and contracts, and run their producers' first hundred records.

    Takes about a second: no Spark, no Kafka. A mistake is shown with its file and line. `forebay run` does the same
    before it starts.
    """
    if logic and len(services) != 1:
        raise click.UsageError("--set is for the settings of one service: name exactly one service")
    chosen = services or tuple(all_services().values())
    rename_topics(chosen, topics)
    for service in chosen:
        click.echo(f"{service.name}: {as_text(try_service(service, logic))}")


def try_service(service: Service, logic: dict[str, str]) -> Trial:
    """Check a service. Raises click.UsageError for a wrong setting, and what check_service raises."""
    try:
        return check_service(service, logic)
    except WrongSettings as error:
        raise click.UsageError(str(error)) from error


def as_text(trial: Trial) -> str:
    """Return what became of the first records, in a line."""
    if trial.waits:
        return f"loads; its records could not be tried: {trial.waits}"
    fed = [f"{count} records of {topic}" for topic, count in trial.records.items() if count]
    unfed = [topic for topic, count in trial.records.items() if not count]
    if not fed:
        return f"loads; nothing produces {', '.join(unfed)}, so no record was tried (docs/new-service.md, section 5)"
    more = f", {trial.late} late" if trial.late else ""
    more += f", {trial.rejected} rejected, the first: {trial.reason}" if trial.rejected else ""
    more += f"; nothing produces {', '.join(unfed)}" if unfed else ""
    return f"fine: {', '.join(fed)} in, {trial.outputs} out{more}"
