"""Remedies for failures that are retried but end only when an operator acts."""

from __future__ import annotations

_REMEDIES = {
    "No space left on device": (
        "a volume is full, either the checkpoint's or that of temporary files: free space or enlarge the volume. "
        "Nothing is lost, and the job continues by itself"
    ),
}
PASSING = tuple(_REMEDIES)
"""Texts of failures that retries alone do not cure. The job resumes by itself once an operator has acted."""


def explain(cause: str, failure: str) -> str:
    """Return a failure's cause with the remedy, if there is one.

    Args:
        cause: the most informative line of the failure.
        failure: the complete text of the failure.
    """
    for sign, remedy in _REMEDIES.items():
        if sign in failure:
            return f"{cause if sign in cause else sign}: {remedy}"
    return cause
