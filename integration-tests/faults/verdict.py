"""What a run shows: exact, or how many outputs are missing and how many came too often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from replays import REPLAYS, check, view
from service_bench import ServiceBench


@dataclass(frozen=True, slots=True)
class Verdict:
    """A run's result.

    Args:
        lost: outputs the independent replay has and the topic has not.
        doubled: outputs the topic has and the replay has not, repetitions among them.
        failure: the first difference, in outputs, stores, errors or late records; "" where there is none.
    """

    lost: int = 0
    doubled: int = 0
    failure: str = ""


def judge(service: str, bench: ServiceBench) -> Verdict:
    """Compare everything a service wrote with the replay of everything it was sent."""
    try:
        check(service, bench)
    except AssertionError as failure:
        wanted = REPLAYS[service](bench.received().records).outputs
        lost, doubled = differences(view(service, bench.outputs()), wanted)
        return Verdict(lost, doubled, str(failure)[:2_000])
    return Verdict()


def differences(found: Mapping[Any, list[Any]], wanted: Mapping[Any, list[Any]]) -> tuple[int, int]:
    """Give how many outputs are missing, and how many are there that should not be."""
    lost = doubled = 0
    for key in found.keys() | wanted.keys():
        ours, theirs = (Counter(map(repr, outputs.get(key, []))) for outputs in (found, wanted))
        lost += (theirs - ours).total()
        doubled += (ours - theirs).total()
    return lost, doubled
