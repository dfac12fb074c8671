"""The job of the simulated cluster. It has its own module, like the job of a service."""

from __future__ import annotations

from tests.runtime.simulator.topologies import JOBS

JOB = JOBS["sum"]
