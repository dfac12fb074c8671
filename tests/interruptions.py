"""Kills of an in-memory job at one of its commits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest

from forebay.in_memory.broker import MemoryProducer


@contextmanager
def kill_at_commit(number: int) -> Iterator[None]:
    """Interrupt the code of the block when it makes its commit with this number. It must get there."""
    commit, commits = MemoryProducer.commit, 0

    def fail(self: MemoryProducer, *arguments: Any) -> None:
        nonlocal commits
        commits += 1
        if commits == number:
            raise KeyboardInterrupt
        commit(self, *arguments)

    with mock.patch.object(MemoryProducer, "commit", fail), pytest.raises(KeyboardInterrupt):
        yield
    assert commits == number
