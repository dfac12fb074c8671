"""Stored event ids: rows have a bounded size, rows of earlier releases are read, and the retention may change."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest

from forebay.processor.dedupe import Dedupe
from forebay.stores.event_ids import IDS_PER_ROW, PREFIX
from forebay.stores.memory import MemoryTable
from forebay.stores.spread import Spreader
from forebay.stores.table import Change

pytestmark = pytest.mark.long

LIMIT = 2_097_152
"""max.message.bytes of a changelog topic."""

RETENTION = 600_000


def names(count: int) -> list[str]:
    return [f"event-{number}" for number in range(count)]


def commit(dedupe: Dedupe, table: MemoryTable, batch: int) -> list[Change]:
    changes = list(dedupe.changes(batch))
    table.apply(changes, b"t")
    dedupe.settle(batch)
    return changes


def fill_table(retention_ms: int, ids: list[str], at: int) -> MemoryTable:
    dedupe, table = Dedupe(retention_ms), MemoryTable()
    for name in ids:
        dedupe.add(dedupe.digest(name), at)
    commit(dedupe, table, 1)
    return table


def load_dedupe(table: MemoryTable, retention_ms: int) -> Dedupe:
    dedupe = Dedupe(retention_ms)
    dedupe.load(table)
    return dedupe


def known(dedupe: Dedupe, ids: list[str], at: int) -> int:
    return sum(dedupe.seen(dedupe.digest(name), at) for name in ids)


def old_rows(ids: list[str], bucket: int, batch: int) -> Iterator[Change]:
    """Yield rows as release 0.1 wrote them: one per bucket and commit."""
    dedupe = Dedupe(RETENTION)
    yield PREFIX + struct.pack(">qq", bucket, batch), b"".join(map(dedupe.digest, ids))


def test_150_000_ids_in_30_seconds_of_one_batch_fit_the_changelog() -> None:
    ids = names(150_000)
    dedupe, table = Dedupe(RETENTION), MemoryTable()
    for number, name in enumerate(ids):
        dedupe.add(dedupe.digest(name), 1_000_000 + number // 5)
    changes = commit(dedupe, table, 1)
    assert max(len(key) + len(value or b"") for key, value in changes) < LIMIT / 10
    assert known(load_dedupe(table, RETENTION), ids, 1_100_000) == len(ids)


def test_all_rows_of_a_bucket_are_deleted_when_it_expires() -> None:
    dedupe, table = Dedupe(RETENTION), MemoryTable()
    for name in names(2 * IDS_PER_ROW + 1):
        dedupe.add(dedupe.digest(name), 0)
    commit(dedupe, table, 1)
    assert len(table) == 3
    dedupe.add(dedupe.digest("later"), 10 * RETENTION)
    commit(dedupe, table, 2)
    assert (len(table), len(dedupe)) == (1, 1)


def test_rows_of_several_tasks_joined_in_one_stay_bounded() -> None:
    tables = [fill_table(RETENTION, [f"{task}-{name}" for name in names(40_000)], 1_000) for task in range(8)]
    spreader = Spreader((), lambda name, key: key, 8, 1)
    (rows,) = spreader.spread([table.scan(b"") for table in tables])
    assert max(len(key) + len(value) for key, value in rows.items()) < LIMIT / 10
    table = MemoryTable()
    table.apply(rows.items(), b"t")
    assert len(load_dedupe(table, RETENTION)) == 8 * 40_000


def test_rows_of_an_earlier_release_load_and_are_split_when_tasks_are_merged() -> None:
    ids = names(120_000)
    tables = [MemoryTable(), MemoryTable()]
    tables[0].apply(old_rows(ids[:60_000], 5, 7), b"t")
    tables[1].apply(old_rows(ids[60_000:], 5, 7), b"t")
    (rows,) = Spreader((), lambda name, key: key, 2, 1).spread([table.scan(b"") for table in tables])
    assert max(map(len, rows.values())) < LIMIT / 10
    table = MemoryTable()
    table.apply(rows.items(), b"t")
    dedupe = load_dedupe(table, RETENTION)
    assert known(dedupe, ids, 6 * 60_000 + RETENTION - 1) == len(ids)
    assert known(dedupe, ids, 6 * 60_000 + RETENTION) == 0


@pytest.mark.parametrize("retention_ms", [6_000, 60_000, RETENTION, 86_400_000])
def test_after_a_change_of_the_retention_repetitions_are_recognized_for_the_new_one(retention_ms: int) -> None:
    at = 1_735_689_600_000
    ids = names(1_000)
    dedupe = load_dedupe(fill_table(RETENTION, ids, at), retention_ms)
    assert known(dedupe, ids, at + retention_ms - 1) == len(ids)
    assert known(dedupe, ids, at + retention_ms + retention_ms // 10 + RETENTION // 10) == 0


def test_a_shorter_retention_deletes_older_ids() -> None:
    at = 1_735_689_600_000
    table = fill_table(RETENTION, names(1_000), at)
    dedupe = load_dedupe(table, 6_000)
    dedupe.add(dedupe.digest("later"), at + 2 * RETENTION)
    commit(dedupe, table, 2)
    assert (len(dedupe), len(table)) == (1, 1)


def test_a_retention_of_0_deletes_all_ids() -> None:
    table = fill_table(RETENTION, names(1_000), 1_000)
    dedupe = load_dedupe(table, 0)
    commit(dedupe, table, 2)
    assert (len(dedupe), len(table)) == (0, 0)
