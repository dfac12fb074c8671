"""Generated names of joins behind a repartition never change, because topics of existing jobs have these names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from forebay.builder import Topology
from forebay.builder.nodes import TopologyError
from forebay.processor.bound_stores import declared_stores
from forebay.utils.names import LONGEST_REPARTITION, LONGEST_STORE, unused_name
from tests.dsl.driving import Driven, Nothing

Build = Callable[[Topology, str], None]
JOINED = "join-table-{0}-and-table-{0}-left-"


def both(one: object, other: object) -> str:
    return f"{one}/{other}"


def stream_with_table(t: Topology, store: str) -> None:
    rows = t.table("in", str, store=store)
    by_value = t.stream("other", str).select_key(lambda _, value: value, str)
    by_value.join(rows.left_join(rows, both, str), both, str).to("out")


def table_with_table(t: Topology, store: str) -> None:
    rows = t.table("in", str, store=store)
    expected_join = rows.left_join(rows, both, str)
    by_value = expected_join.group_by(lambda key, _: key, str).count(store="count")
    by_value.left_join(expected_join, both, str).to_stream().to("out")


def names_of(build: Build, store: str) -> tuple[list[str], list[str]]:
    """Return the names of the repartitions and of the stores."""
    stages = Driven(lambda t: build(t, store)).job.topology
    stores = [member.name for stage in stages for _, member in declared_stores(stage.processor(Nothing()))]
    return [name for stage in stages for name in stage.repartitions], stores


@pytest.mark.parametrize("letters", [20, 60, 70, 82])
def test_a_name_that_a_store_can_have_is_not_cut(letters: int) -> None:
    store = "s" * letters
    expected_join = JOINED.format(store)
    assert names_of(stream_with_table, store) == ([f"{expected_join}-joined"], [store])
    assert names_of(table_with_table, store) == (
        ["count", f"{expected_join}-along"],
        [store, "count", f"{expected_join}-along"],
    )


def test_the_repartition_of_a_join_with_a_table_can_be_named() -> None:
    def build(t: Topology, store: str) -> None:
        rows = t.table("in", str, store=store)
        for topic in ("a", "b"):
            t.stream(topic, str).select_key(lambda _, value: value, str).join(rows, both, str, name=f"by-{topic}").to(
                "out"
            )

    assert names_of(build, "rows")[0] == ["by-a", "by-b"]


def test_two_repartitions_can_not_have_one_name() -> None:
    def build(t: Topology, store: str) -> None:
        rows = t.table("in", str, store=store)
        for topic in ("a", "b"):
            t.stream(topic, str).select_key(lambda _, value: value, str).join(rows, both, str, name="by").to("out")

    with pytest.raises(TopologyError, match=r"repartition by: the name is used at .* already"):
        names_of(build, "rows")


def test_a_repartition_without_a_store_may_have_a_longer_name() -> None:
    store = "s" * 100
    name = f"{JOINED.format(store)}-joined"
    assert LONGEST_STORE < len(name) == LONGEST_REPARTITION
    assert names_of(stream_with_table, store) == ([name], [store])


@pytest.mark.parametrize("letters", [101, 150, 200])
@pytest.mark.parametrize("build", [stream_with_table, table_with_table])
def test_a_longer_name_is_cut(build: Build, letters: int) -> None:
    repartitions, _ = names_of(build, "s" * letters)
    assert len(repartitions[-1]) < LONGEST_STORE
    assert repartitions != names_of(build, "s" * (letters - 1))[0]


@pytest.mark.parametrize("letters", [5, 198, 199, 200, 300])
def test_numbers_keep_names_apart_and_short_enough(letters: int) -> None:
    used: list[str] = []
    for _ in range(12):
        used.append(unused_name("n" * letters, used, LONGEST_STORE))
    assert len({*used}) == 12
    assert max(map(len, used)) <= LONGEST_STORE
    assert used[0] == "n" * letters or letters > LONGEST_STORE
