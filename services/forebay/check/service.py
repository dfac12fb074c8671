"""The check of a service's job, settings, entry and contracts without Spark and Kafka."""

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
    """Load a service's job, settings, entry and contracts, and process the first records of its producers.

    Args:
        given: Settings of the logic as text.

    Raises:
        Mistake, Disagreement, PluginError: The service is wrong. The message says where and what to write instead.
        WrongSettings: A setting does not exist or has an invalid value.
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
    """Raise Mistake if a setting has no default."""
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
    """Add the place in the service's files to errors that are raised in the block."""
    try:
        yield
    except _CLEAR:
        raise
    except Exception as error:
        raise mistake(error, service.package, doing) from error
