"""A wrong argument in place of a Fold is rejected with the correction."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.builder import Topology, TopologyError
from forebay.operators import Fold
from forebay.testing import TestDriver
from forebay.time import tumbling

NO_FOLD: Any = 0
ADD: Any = lambda key, value, total: total + 1  # noqa: E731
FOLD: Fold[str, int] = Fold(lambda: 0, ADD)


def test_an_initial_value_and_a_function_are_no_fold() -> None:
    grouped = Topology().stream("in", str).group_by_key()
    for call in (
        lambda: grouped.aggregate(NO_FOLD, ADD, store="s"),
        lambda: grouped.windowed_by(tumbling(5)).aggregate(NO_FOLD, ADD, store="s"),
        lambda: grouped.cogroup(FOLD).cogroup(grouped, ADD),
        lambda: Topology().table("t", str, store="t").group_by(lambda k, _: k, str).aggregate(ADD, int, store="s"),
    ):
        with pytest.raises(TopologyError, match=r"takes a Fold, not .*: write Fold"):
            call()


def test_fold_accepts_explicit_type_arguments() -> None:
    assert Fold[str, int](lambda: 5, ADD).initial() == 5


def append(number: int, text: str, total: str) -> str:
    return f"{total}{number + 1}{text}"


def test_functions_are_called_with_the_key_of_the_stream() -> None:
    topology = Topology()
    numbers = topology.stream("in", str, key=int).group_by_key()
    numbers.aggregate(Fold(lambda: "", append), str, store="s").to_stream().to("out")
    driver = TestDriver(topology)
    driver.pipe(6, "a", "in")
    assert [sent.value for sent in driver.outputs] == ["7a"]
