"""mypy infers the argument and result types of the functions in chains of DSL calls."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from forebay.builder import job
from forebay.builder.notebook_view import NoSettings
from tests.dsl import ordinary_topologies

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]

RIGHT = """
from typing import assert_type

from forebay.builder import Materialized, Stream, Table, Topology, ValueTransformer, Windowed
from forebay.processor import Context
from forebay.time import tumbling, within

t = Topology()
words = t.stream("in", str, key=int)
prices = t.table("prices", float, store="prices")
towns = t.global_table("towns", float, key=int, store="towns")
assert_type(words, Stream[int, str])
assert_type(words.map_values(lambda _, word: len(word), int), Stream[int, int])
assert_type(words.drop_nulls(), Stream[int, str])
counts = words.group_by(lambda _, word: word, str).windowed_by(tumbling(5)).count(store="w")
assert_type(counts, Table[Windowed[str], int])
assert_type(prices.filter(lambda _, price: price > 1).to_stream(), Stream[str, float])
by_word = words.select_key(lambda _, word: word, str)
assert_type(by_word.left_join(prices, lambda word, price: price or 0.0, float), Stream[str, float])
assert_type(words.join(words, lambda a, b: len(a + b), int, windows=within(5), store="j"), Stream[int, int])
assert_type(words.join(towns, lambda _, n: n * 2, float, key_of=lambda number, _: number), Stream[int, float])
assert_type(words.split().default_branch("rest")["rest"], Stream[int, str])


class Cents(ValueTransformer[str, float, int]):
    def transform(self, key: str, value: float | None, ctx: Context[int]) -> int | None:
        return None if value is None else round(value * 100)


cents = prices.transform_values(Cents, int, store=Materialized("cents", caching=True))
assert_type(cents.materialized("kept", history_retention_ms=5), Table[str, int])
assert_type(words.repartition("r", partitioner=lambda number, word: number + len(word or "")), Stream[int, str])
assert_type(words.select_key(lambda _, word: word or None, str), Stream[str, str])
"""

WRONG = """
words.filter(lambda _, word: word.nothing)
words.map_values(lambda _, word: word, int)
by_word.join(prices, lambda word, price: price.nothing, float)
words.join(prices, lambda word, price: price, float)
"""


def errors(code: str, folder: Path) -> list[int]:
    """Return the lines for which mypy reports an error."""
    file = folder / "typed.py"
    file.write_text(code)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml"), str(file)]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False).stdout
    assert "typed.py" in shown or "Success" in shown, shown
    return sorted({int(line) for line in re.findall(r"typed\.py:(\d+): error", shown)})


def test_ordinary_topologies_have_no_errors_and_can_run(tmp_path: Path) -> None:
    code = (ROOT / "tests" / "dsl" / "ordinary_topologies.py").read_text()
    assert errors(code, tmp_path) == []
    assert {"priced", "sums", "seen"} <= job(NoSettings, lambda _: ordinary_topologies.t).outputs.keys()


def test_correct_lines_pass_and_each_wrong_line_is_found(tmp_path: Path) -> None:
    first = len(RIGHT.splitlines()) + 2
    assert errors(RIGHT + WRONG, tmp_path) == [first + number for number in range(4)]
