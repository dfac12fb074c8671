"""The verdict of a run: exact, or the number of missing and of duplicate outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from join_replays import bills, check_bills
from replays import REPLAYS, check, frozen, view
from service_bench import ServiceBench

from faults.feeder import GRACE_MS

_IDLE_MS = 60_000
"""A time longer than a job is idle between its last record and its end."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of comparing a run with its replay.

    Args:
        lost: Number of outputs of the independent replay that are missing in the topic.
        doubled: Number of outputs in the topic that the replay does not have, including repetitions.
        failure: The first difference in outputs, stores, errors or late records. "" if all are equal.
    """

    lost: int = 0
    doubled: int = 0
    failure: str = ""


def judge(service: str, bench: ServiceBench) -> Verdict:
    """Compare everything that a service wrote with the replay of everything that was sent."""
    try:
        _check(service, bench)
    except AssertionError as failure:
        lost, doubled = differences(*_outputs(service, bench))
        return Verdict(lost, doubled, str(failure)[:2_000])
    return Verdict()


def _check(service: str, bench: ServiceBench) -> None:
    if service == "price-join":
        check_bills(bench, GRACE_MS, at_least=1_000, idle_ms=_IDLE_MS)
    else:
        check(service, bench)


def _outputs(service: str, bench: ServiceBench) -> tuple[Mapping[Any, list[Any]], Mapping[Any, list[Any]]]:
    if service == "price-join":
        compared = bills(bench, GRACE_MS, idle_ms=_IDLE_MS)
        return {p: comparison.actual for p, comparison in compared.items()}, {
            p: comparison.wanted for p, comparison in compared.items()
        }
    return view(service, bench.outputs()), REPLAYS[service](bench.read_input().records).outputs


def differences(found: Mapping[Any, list[Any]], wanted: Mapping[Any, list[Any]]) -> tuple[int, int]:
    """Return the number of missing outputs and the number of surplus outputs."""
    lost = doubled = 0
    for key in found.keys() | wanted.keys():
        ours, theirs = (Counter(map(frozen, outputs.get(key, []))) for outputs in (found, wanted))
        lost += (theirs - ours).total()
        doubled += (ours - theirs).total()
    return lost, doubled
