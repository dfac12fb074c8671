"""Setups that a seed determines, with all topologies and different numbers of partitions and tasks."""

from __future__ import annotations

import random

from tests.runtime.simulator.setup import Setup
from tests.runtime.simulator.topologies import JOBS

_SIZES = ((1, 1), (1, 2), (5, 1), (5, 2), (5, 4), (4, 4))
"""Numbers of partitions of the input and of tasks."""


def setup_of(seed: int) -> Setup:
    """Return the setup of a seed.

    A live job with several sub-topologies has only one group. With several groups, a sender may have reported that it
    has read everything just before more records arrive. The reader does not wait for these records, so its results
    would depend on their delay. In waves, all input exists before any task starts.
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
        formats=draw.choice((0, 0, 10)),
    )
