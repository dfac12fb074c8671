"""Everything of a service that can be wrong before Spark and Kafka are asked."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from forebay.catalog import Service
from forebay.check.trial import Trial, try_records
from forebay.codec import Unavailable
from forebay.job import Job, load_job
from forebay.runtime.driver.logic_settings import WrongSettings, parse_logic
from forebay.service.agreement import Disagreement, check_agreement
from forebay.service.mistakes import Mistake, mistake
from forebay.service.plugins import PluginError

_CLEAR = (Mistake, Disagreement, PluginError, WrongSettings, Unavailable, MemoryError)


def check_service(service: Service, given: Mapping[str, str]) -> Trial:
    """Load a service's job, settings, entry and contracts, and run its producers' first records.

    Args:
        given: settings of the logic as text.

    Raises:
        Mistake, Disagreement, PluginError: what is wrong, where, and what to write instead.
        WrongSettings: a setting that does not exist or makes no sense.
    """
    with _name_place(service, f"the job {service.job}"):
        job = load_job(service.job)
    with _name_place(service, f"the settings of {service.name}"):
        _require_defaults(job)
        settings = job.settings(**parse_logic(service, given))
    with _name_place(service, service.name):
        check_agreement(service, job, settings)
        return try_records(service, settings)


def _require_defaults(job: Job) -> None:
    """Refuse settings that need not be set but have no default. Raises Mistake."""
    kind = job.settings
    if not dataclasses.is_dataclass(kind):
        raise Mistake(
            f"{kind.__qualname__} is not a dataclass: write @dataclass(frozen=True, slots=True) above it in "
            f"{kind.__module__}"
        )
    for field in dataclasses.fields(kind):
        if field.default is field.default_factory is dataclasses.MISSING:
            raise Mistake(
                f"the setting {field.name} has no default: write `{field.name}: {field.type} = ...` in "
                f"{kind.__qualname__} of {kind.__module__}"
            )


@contextmanager
def _name_place(service: Service, doing: str) -> Iterator[None]:
    """Add the place in the service's files to the errors they raise."""
    try:
        yield
    except _CLEAR:
        raise
    except Exception as error:
        raise mistake(error, service.package, doing) from error
