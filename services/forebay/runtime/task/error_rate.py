"""Stops a job whose records fail more often than an operator accepts."""

from __future__ import annotations

from collections.abc import Mapping

from forebay.processor.batch import BatchResult
from forebay.processor.messages import SideRecord
from forebay.runtime.errors import TooManyErrors
from forebay.runtime.protocol.errorcount import FEWEST, ErrorCount


def check_error_rate(task: str, batch: int, count: ErrorCount, result: BatchResult, limit: float) -> None:
    """Refuse a commit, before it is sent, if too many of a task's latest records have failed.

    Args:
        task: name of the task for error messages.
        batch: number of the commit.
        count: count of the task's latest records, including those of this commit.
        limit: largest share that may fail. 0: the first failure stops the job. 1 or more: no limit.

    Raises:
        TooManyErrors: describes the first failure of the commit.
    """
    fewest = FEWEST if limit > 0 else 1
    if limit >= 1 or not result.errors or count.errors < fewest or count.errors <= limit * count.records:
        return
    first = result.errors[0]
    raise TooManyErrors(
        f"{task}: {count.errors} of the latest {count.records} records failed, more than --max-error-rate {limit:g} "
        f"allows; the first in commit {batch}: {_describe(first)}. Nothing of this commit is visible: fix the logic or "
        "the producer and start again; or raise --max-error-rate (1: no limit), and these records go to .errors"
    )


def _describe(record: SideRecord) -> str:
    return describe_error(record.key, {name: (value or b"").decode(errors="replace") for name, value in record.headers})


def describe_error(record_key: bytes | None, facts: Mapping[str, str]) -> str:
    """Return the origin of a record of `.errors` and the reason of its failure.

    Args:
        facts: the record's headers as text.
    """
    key = None if record_key is None else record_key.decode(errors="replace")[:100]
    failure = f"{facts['error.class']}: {facts['error.message']}".replace("\n", " ")[:300]
    if "error.timer" in facts and not facts.get("error.topic"):
        return f"the timer {facts['error.timer']} of key {key!r}: {failure}"
    place = f"{facts['error.topic']}-{facts['error.partition']} offset {facts['error.offset']}"
    return f"{place}, key {key!r}: {failure} ({facts['error.stage']})"
