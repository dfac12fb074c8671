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
  forebay check                                all services"""
)
@services_argument
@logic_option
@topics_option
def check(services: tuple[Service, ...], logic: dict[str, str], topics: dict[str, str]) -> None:
    """Load SERVICES' declarations, jobs, settings and contracts, and process their producers' first hundred records.

    This takes a few seconds, without Spark and Kafka. Mistakes are reported with file and line. `forebay run` does
    the same before it starts.
    """
    if logic and len(services) != 1:
        raise click.UsageError("--set is for the settings of one service: name exactly one service")
    chosen = services or tuple(all_services().values())
    rename_topics(chosen, topics)
    for service in chosen:
        click.echo(f"{service.name}: {as_text(try_service(service, logic))}")


def try_service(service: Service, logic: dict[str, str]) -> Trial:
    """Check a service. Raises click.UsageError for a wrong setting, and the errors of check_service."""
    try:
        return check_service(service, logic)
    except WrongSettings as error:
        raise click.UsageError(str(error)) from error


def as_text(trial: Trial) -> str:
    """Return the result of a trial as one line."""
    if trial.waits:
        return f"loads; its logic was not run: {trial.waits}"
    fed = [f"{count} records of {topic}" for topic, count in trial.records.items() if count]
    unfed = [topic for topic, count in trial.records.items() if not count]
    if not fed:
        return (
            f"loads; no producer writes {', '.join(unfed)}, so its logic was not run (docs/new-service.md, section 5)"
        )
    more = f", {trial.late} late" if trial.late else ""
    more += f", {trial.rejected} rejected, the first: {trial.reason}" if trial.rejected else ""
    more += f"; no producer writes {', '.join(unfed)}" if unfed else ""
    return f"fine: {', '.join(fed)} in, {trial.outputs} out{more}"
