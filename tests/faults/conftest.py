"""Tests of the fault harness's logic without broker and Spark; the harness is in integration-tests/faults."""

from __future__ import annotations

import sys
from pathlib import Path

INTEGRATION_TESTS = str(Path(__file__).parents[2] / "integration-tests")
if INTEGRATION_TESTS not in sys.path:
    sys.path.append(INTEGRATION_TESTS)
