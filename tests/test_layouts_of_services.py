"""The layouts that stores record of their formats are the same in every process, for every service."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PRINT = """
from forebay.catalog import all_services
from forebay.job import load_job
from forebay.runtime.changelog.sub_topology_log import sub_topology_log
from forebay.stores.layouts import encode_layout, key_formats_of, layout_of

for name, service in all_services().items():
    job = load_job(service.job)
    for stage in range(len(job.topology)):
        log = sub_topology_log(name, stage, job.logic(stage)(job.settings()))
        for store in log.stores:
            print(name, store.name, encode_layout(layout_of(store, key_formats_of(log.processor))).decode())
"""


def layouts_with(seed: str) -> list[str]:
    """Return the layouts of the stores of all services, from a process with this hash seed."""
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    return subprocess.run(
        [sys.executable, "-c", PRINT], env=environment, check=True, capture_output=True, text=True
    ).stdout.splitlines()


@pytest.mark.long
def test_a_restart_finds_what_it_recorded() -> None:
    layouts = layouts_with("1")
    assert len(layouts) > 10
    assert layouts == layouts_with("2")
    assert not [layout for layout in layouts if " at 0x" in layout]
