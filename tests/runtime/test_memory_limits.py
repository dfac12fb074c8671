"""A commit's size limits are derived from the available memory, which is the container's limit if it has one."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from forebay.runtime.process.memory import MOST_BATCH_BYTES, batch_bytes, collect_seldom, memory_bytes, state_bytes

GIGABYTE = 1 << 30


@pytest.mark.parametrize(
    ("text", "limited"), [("1073741824\n", True), ("max\n", False), ("9223372036854771712", False)]
)
def test_the_control_group_s_limit_counts_where_there_is_one(tmp_path: Path, text: str, limited: bool) -> None:
    file = tmp_path / "memory.max"
    file.write_text(text)
    assert memory_bytes([tmp_path / "missing", file]) == (GIGABYTE if limited else psutil.virtual_memory().total)


def test_a_machine_without_control_groups_has_all_its_memory(tmp_path: Path) -> None:
    assert memory_bytes([tmp_path / "missing"]) == psutil.virtual_memory().total


def test_a_batch_takes_a_share_of_little_memory_and_never_more_than_the_most() -> None:
    assert batch_bytes(GIGABYTE) == GIGABYTE // 16
    assert batch_bytes(64 * GIGABYTE) == MOST_BATCH_BYTES


def test_a_task_may_take_half_of_the_memory_unless_its_table_is_on_disk() -> None:
    assert state_bytes(2 * GIGABYTE, on_disk=False) == GIGABYTE
    assert state_bytes(2 * GIGABYTE, on_disk=True) == state_bytes(64 * GIGABYTE, on_disk=True)


@pytest.fixture
def _own_thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("_own_thresholds")
def test_a_worker_still_collects_cycles_but_not_within_an_ordinary_commit() -> None:
    collect_seldom()
    young, *_ = gc.get_threshold()
    assert gc.isenabled()
    assert 300_000 < young < 1_000_000
