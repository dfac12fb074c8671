"""Problems of the configuration of a job's brokers, computed from the brokers' descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from forebay.kafka.brokers import Cluster

OFFSETS_RETENTION = "offsets.retention.minutes"
TRANSACTION_TIMEOUT = "transaction.max.timeout.ms"

_DAY_MINUTES = 1_440
_WEEK_MINUTES = 7 * _DAY_MINUTES


@dataclass(frozen=True, slots=True)
class Needs:
    """A job's requirements for its broker.

    Args:
        transaction_timeout_ms: timeout of its transactions.
        max_future_ms: how far ahead of the clock the times of its records may lie.
        max_record_bytes: size of its largest output value.
    """

    transaction_timeout_ms: int
    max_future_ms: int
    max_record_bytes: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem, as one line that names the remedy.

    Args:
        fatal: whether the job would lose state, or stop processing.
    """

    text: str
    fatal: bool


def broker_findings(cluster: Cluster, needs: Needs) -> list[Finding]:
    """Return the problems of the brokers, each once."""
    results = [_transactions(config, needs) for config in cluster.configs.values()]
    results += [_offsets(config) for config in cluster.configs.values()]
    return list(dict.fromkeys(finding for finding in results if finding is not None))


def _transactions(config: Mapping[str, str], needs: Needs) -> Finding | None:
    longest = number(config, TRANSACTION_TIMEOUT)
    if longest is None or longest >= needs.transaction_timeout_ms:
        return None
    return Finding(
        f"the brokers abort transactions after {longest} ms ({TRANSACTION_TIMEOUT}), but those of the job may take "
        f"{needs.transaction_timeout_ms} ms: raise the brokers' limit, or use --transaction-timeout-ms {longest}",
        True,
    )


def _offsets(config: Mapping[str, str]) -> Finding | None:
    minutes = number(config, OFFSETS_RETENTION)
    if minutes is None or minutes >= _WEEK_MINUTES:
        return None
    fatal = minutes <= _DAY_MINUTES
    when = "while the job runs" if fatal else f"if it is stopped for {minutes // 60} hours"
    return Finding(
        f"the brokers delete offsets after {minutes} minutes ({OFFSETS_RETENTION}), so the offsets of the job's marker "
        f"group, which it commits at least once a day, are lost {when}: set at least {_WEEK_MINUTES} on the brokers",
        fatal,
    )


def number(config: Mapping[str, str], name: str) -> int | None:
    """Return a numeric setting; None if it is unknown."""
    text = config.get(name, "")
    return int(text) if text.lstrip("-").isdecimal() else None
