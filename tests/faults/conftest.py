"""The harness lives with the integration tests; its logic is tested here, without broker and Spark."""

from __future__ import annotations

import sys
from pathlib import Path

INTEGRATION_TESTS = str(Path(__file__).parents[2] / "integration-tests")
if INTEGRATION_TESTS not in sys.path:
    sys.path.append(INTEGRATION_TESTS)
