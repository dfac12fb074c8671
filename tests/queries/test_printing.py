"""PRINT shows every n-th record as text, up to its limit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from forebay.processor.messages import Origin
from forebay.queries.printing import print_rows
from forebay.queries.push import Tail
from forebay.sql.printing import Print
from forebay.sql.statements import parse


class Records:
    """A topic with five records, and a pause before the third one."""

    def __init__(self) -> None:
        self.is_closed = False

    def __iter__(self) -> Iterator[tuple[Any, Any, int, Origin] | None]:
        for number in range(5):
            if number == 2:
                yield None
            yield f"key-{number}", f"value-{number}", 1_000 + number, Origin(0, number)

    def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize(
    ("clauses", "offsets"),
    [
        ("", [0, 1, 2, 3, 4]),
        ("FROM BEGINNING LIMIT 2", [0, 1]),
        ("INTERVAL 2", [0, 2, 4]),
        ("SAMPLE 3 LIMIT 2", [0, 3]),
        ("LIMIT 0", []),
    ],
)
def test_interval_and_limit(clauses: str, offsets: list[int]) -> None:
    (statement,) = parse(f"PRINT 'readings' {clauses};")
    assert isinstance(statement, Print)
    topic = Records()
    lines = [line for line in print_rows(cast(Tail, topic), statement) if line is not None]
    assert [line["row"]["offset"] for line in lines if "row" in line] == offsets
    assert lines[-1] == {"end": {"rows": len(offsets)}}
    assert topic.is_closed
