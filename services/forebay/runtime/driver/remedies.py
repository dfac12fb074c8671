"""What to do about a failure that is retried but passes only if an operator acts."""

from __future__ import annotations

_REMEDIES = {
    "No space left on device": (
        "a volume is full, the checkpoint's or that of temporary files: make room there or make it larger; "
        "nothing is lost, the job continues by itself"
    ),
}
PASSING = tuple(_REMEDIES)
"""Texts of failures that retries alone do not cure. The job resumes by itself once an operator has acted."""


def explain(cause: str, failure: str) -> str:
    """Return a failure's cause with the remedy, if there is one.

    Args:
        cause: the line that says most.
        failure: all of the failure's text.
    """
    for sign, remedy in _REMEDIES.items():
        if sign in failure:
            return f"{cause if sign in cause else sign}: {remedy}"
    return cause
