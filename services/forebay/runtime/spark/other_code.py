"""Failures of workers whose code differs from the driver's, as during an upgrade. They end when the pod is replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay.runtime.errors import STOP_MARK, Unavailable

if TYPE_CHECKING:
    from forebay.runtime.spec import JobSpec


class OtherCodeError(Exception):
    """A worker with other code than its driver's failed. Its text has no mark that would end the job."""

    def __init__(self, what: str, cause: BaseException) -> None:
        said = str(cause).removeprefix(f"[{STOP_MARK}] ")
        super().__init__(
            f"{what} ({type(cause).__name__}: {said}). That passes once the executor's pod is replaced; if it stays, "
            "give driver and executors one image"
        )


def explain_failure(failure: Exception, spec: JobSpec) -> Exception:
    """Return a lease's failure, as OtherCodeError if this worker's code differs from its driver's.

    Unavailable is returned as it is, because an outage or another owner of the group has nothing to do with code.
    """
    if isinstance(failure, Unavailable):
        return failure
    from forebay.runtime.code_version import code_version  # noqa: PLC0415 (a worker that does not fail takes none of it)

    try:
        own = code_version(spec.entry, spec.logic)
    except Exception as error:  # a missing service or setting may raise anything
        return OtherCodeError("this executor's code does not know the job as its driver does", error)
    if own == spec.code_version:
        return failure
    return OtherCodeError(f"this executor has code {own}, its driver {spec.code_version}", failure)
