"""Forty short runs with late requests and other faults equal runs without faults. Longer runs are separate."""

from __future__ import annotations

import pytest

from tests.runtime.simulator.outcome import faults
from tests.runtime.simulator.setup import Setup

SHORT = Setup("sum", 2, 2, records=16, trouble=0.05, turns=40, late_ends=0.2)


@pytest.mark.long
@pytest.mark.parametrize("first", [0, 10, 20, 30])
def test_ten_seeds(first: int) -> None:
    assert [(seed, fault) for seed in range(first, first + 10) for fault in faults(SHORT, seed)[1]] == []
