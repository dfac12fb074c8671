"""Tests of the fault harness (integration-tests/faults) that need neither a broker nor Spark."""

from __future__ import annotations

import sys
from pathlib import Path

INTEGRATION_TESTS = str(Path(__file__).parents[2] / "integration-tests")
if INTEGRATION_TESTS not in sys.path:
    sys.path.append(INTEGRATION_TESTS)
