"""Draws setups from seeds: every topology, with one partition and several, one task and several."""

from __future__ import annotations

import random

from tests.runtime.simulator.setup import Setup
from tests.runtime.simulator.topologies import JOBS

_SIZES = ((1, 1), (1, 2), (5, 1), (5, 2), (5, 4), (4, 4))
"""Partitions of the input, tasks."""


def setup_of(seed: int) -> Setup:
    """Return the setup of a seed.

    A live job of several sub-topologies has one group. A reader does not wait for records that a sender of another
    group has yet to read if that sender has just reported that it has read everything; the reader's results would then
    depend on the records' delay. In waves, all input exists before any task starts.
    """
    draw = random.Random(seed)
    topology = draw.choice(sorted(JOBS.keys() - {"counts"}))
    partitions, tasks = draw.choice(_SIZES)
    is_live = draw.random() < 0.4
    waves = draw.choice((1, 1, 3))
    return Setup(
        topology,
        partitions,
        tasks,
        groups=1 if tasks == 1 or (is_live and waves == 1 and topology != "sum") else draw.choice((1, 2)),
        records=80,
        is_live=is_live,
        trouble=draw.choice((0.003, 0.01, 0.03)),
        turns=200,
        loses_checkpoint=draw.random() < 0.2,
        late_ends=draw.choice((0.0, 0.1)),
        waves=waves,
    )
