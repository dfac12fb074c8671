"""A warm worker has imported the modules that its first lease needs. If this fails, the job only starts more slowly."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.long

WORKER = """
import sys
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.spark.sealed import SealedSpec
from forebay.runtime.spec import JobSpec
from forebay.runtime.driver.warming import _import
kafka = KafkaSettings(bootstrap_servers="127.0.0.1:1", schema_registry_url="http://127.0.0.1:1")
sealed = SealedSpec(JobSpec("user-sessions", "app", 2, 1, kafka, {}, {}, "1"))
before = set(sys.modules)
_import(sealed)
print(*sorted(set(sys.modules) - before))
"""


def test_a_warm_worker_has_imported_the_loop_the_logic_pandas_and_pyarrow() -> None:
    done = subprocess.run([sys.executable, "-c", WORKER], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {"forebay.runtime.spark.leases", "user_sessions.job", "pandas", "pyarrow"} <= set(done.stdout.split())
