"""Reduction of the setup of a failed run to a smaller one with which its seed still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.runtime.simulator.outcome import faults
from tests.runtime.simulator.setup import Setup


def fails(setup: Setup, seed: int) -> bool:
    """Return whether a run fails, or its results differ from those of a run without faults."""
    try:
        return bool(faults(setup, seed)[1])
    except Exception:
        return True


def shrunk(setup: Setup, seed: int, fails: Callable[[Setup, int], bool] = fails) -> Setup:
    """Return the smallest setup that still fails with the seed."""
    while True:
        smaller = next((one for one in _smaller(setup) if fails(one, seed)), None)
        if smaller is None:
            return setup
        setup = smaller


def _smaller(setup: Setup) -> Iterator[Setup]:
    if setup.turns > 1:
        yield replace(setup, turns=setup.turns // 2)
        yield replace(setup, turns=setup.turns - 1 - setup.turns // 16)
    if setup.records > 1:
        yield replace(setup, records=setup.records // 2)
    if setup.tasks > 1:
        yield replace(setup, partitions=1, tasks=1, groups=1)
    if setup.groups > 1:
        yield replace(setup, groups=1)
    if setup.waves > 1:
        yield replace(setup, waves=1)
    if setup.late_ends:
        yield replace(setup, late_ends=0.0)
    if setup.loses_checkpoint:
        yield replace(setup, loses_checkpoint=False)
