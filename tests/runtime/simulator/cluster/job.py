"""The job of the simulated cluster, in a module of its own as a service's job is."""

from __future__ import annotations

from tests.runtime.simulator.topologies import JOBS

JOB = JOBS["sum"]
