"""`make bench-check` reports ratios that became worse, and no others."""

from __future__ import annotations

import json

from benchmarks.check import FILE, worse


def test_what_grew_by_more_than_the_noise_is_named_the_worst_first() -> None:
    stored = {"a": 1.0, "b": 2.0, "c": 4.0, "gone": 1.0}
    assert worse(stored, {"a": 1.4, "b": 4.0, "c": 6.4, "new": 9.0}) == [
        "b: 4.0 times the reference, 2.0 before",
        "c: 6.4 times the reference, 4.0 before",
    ]


def test_there_are_ratios_of_both_backends() -> None:
    stored = json.loads(FILE.read_text())
    assert {name.split()[0] for name in stored} == {"in_memory", "persistent"}
    assert worse(stored, stored) == []
