"""Every aggregate has the same result for a session as for a window with the same records.

A session is merged from the initial value and the sessions that a record joins. Merging the initial value must
therefore change nothing.
"""

from __future__ import annotations

import pytest

from tests.sql.driven import Driven

AGGREGATES = [
    "COUNT(*)", "COUNT(n)", "SUM(n)", "SUM(x)", "AVG(n)", "MIN(n)", "MAX(n)", "MIN(t)", "STDDEV_SAMP(n)",
    "LATEST_BY_OFFSET(n)", "LATEST_BY_OFFSET(t, 2)", "LATEST_BY_OFFSET(n, false)", "EARLIEST_BY_OFFSET(n)",
    "EARLIEST_BY_OFFSET(n, false)", "EARLIEST_BY_OFFSET(t, 2)", "COLLECT_LIST(n)", "COLLECT_SET(n)", "HISTOGRAM(t)",
    "TOPK(n, 2)", "TOPKDISTINCT(n, 2)", "COUNT_DISTINCT(t)", "CORRELATION(n, x)",
]  # fmt: skip
SENT = [(None, "a", 0.5), (3, None, 1.25), (3, "b", None), (1, "a", 2.0), (7, "c", 0.1)]


def rows(window: str, times: tuple[int, ...]) -> list[object]:
    columns = ", ".join(f"{aggregate} AS c{number}" for number, aggregate in enumerate(AGGREGATES))
    run = Driven(
        "CREATE STREAM s (k STRING KEY, n INT, t STRING, x DOUBLE) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');\n"
        f"CREATE TABLE o AS SELECT k, {columns} FROM s WINDOW {window} GROUP BY k;",
        tasks=1,
    )
    for (n, t, x), at in zip(SENT, times, strict=True):
        last = run.send("in", "k", {"n": n, "t": t, "x": x}, at)
    assert not run.driver.errors
    return list(last[-1][1])


@pytest.mark.parametrize("times", [(1_000, 2_000, 3_000, 4_000, 5_000), (1_000, 1_000, 1_000, 1_000, 1_000)])
def test_single_session_equals_a_single_window(times: tuple[int, ...]) -> None:
    assert rows("SESSION (10 SECONDS)", times) == rows("TUMBLING (SIZE 1 HOUR)", times)


def test_merged_sessions_count_each_record_once() -> None:
    """The last record merges two sessions of the others."""
    merged = rows("SESSION (10 SECONDS)", (1_000, 2_000, 15_000, 16_000, 8_500))
    assert merged[:4] == rows("TUMBLING (SIZE 1 HOUR)", (1_000, 2_000, 15_000, 16_000, 8_500))[:4]
