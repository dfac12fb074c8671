"""A repartition may have a custom partitioner, and joins check that both sides are partitioned alike."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.builder import Topology, TopologyError
from forebay.partitioner import partition_of
from forebay.processor import Context, Processor
from forebay.stores import KeyValueStore
from forebay.time import within
from tests.dsl.driving import Driven


def spread(t: Topology) -> None:
    words = t.stream("in", str).repartition("by-value", partitioner=lambda key, word: int((word or "0")[0]))
    words.group_by_key().count(store="counts").to_stream().to("counts")


def test_records_go_to_the_task_chosen_by_the_partitioner() -> None:
    run = Driven(spread, tasks=3)
    sent = run.feed("in", *((f"k{n % 2}", str(n), n) for n in range(6)), ("k0", "0", 9))
    assert sent[-1] == ("k0", 2, 9)
    rows = [dict(store.all()) for p in run.driver.sub_topologies[1].processors for store in [p.store0]]  # type: ignore[attr-defined]
    assert [sorted(row) for row in rows] == [["k0", "k1"]] * 3, "k0 and k1 have records in every task"
    assert sum(entry.value for row in rows for entry in row.values()) == 7


def test_invalid_partition_number_sends_the_record_to_errors() -> None:
    run = Driven(lambda t: t.stream("in", str).repartition("odd", partitioner=lambda _, __: -1).to("out"), tasks=2)
    run.driver.pipe("k", "v", "in")
    (refused,) = run.driver.errors
    assert (
        refused.headers["error.message"] == "the partitioner of odd returned -1: it must return a whole number from 0"
    )


def test_differently_partitioned_inputs_can_t_be_joined() -> None:
    t = Topology()
    words = t.stream("in", str)
    with pytest.raises(
        TopologyError, match=r"join j: keys are text \(partitioned by the partitioner of r\) on one side"
    ):
        words.repartition("r", partitioner=lambda *_: 0).join(words, "{}{}".format, str, windows=within(5), store="j")


def tasks_of(run: Driven) -> list[list[str]]:
    return [sorted(dict(store.all())) for p in run.driver.sub_topologies[1].processors for store in [p.store0]]  # type: ignore[attr-defined]


def in_partitions(partitions: int, **how: Any) -> Any:
    def build(t: Topology) -> None:
        words = t.stream("in", str).repartition("r", partitions=partitions, **how)
        words.group_by_key().count(store="n").to_stream().to("out")

    return build


KEYS = [f"k{n}" for n in range(20)]


@pytest.mark.parametrize("partitions", [1, 2, 3, 6, 7])
def test_keys_are_spread_over_as_many_partitions_as_are_named(partitions: int) -> None:
    run = Driven(in_partitions(partitions), tasks=3)
    run.feed("in", *((key, "v", at) for at, key in enumerate(KEYS)))
    wanted = [[key for key in sorted(KEYS) if partition_of(key.encode(), partitions) % 3 == task] for task in range(3)]
    assert tasks_of(run) == wanted


def test_all_records_of_one_partition_are_in_order() -> None:
    def build(t: Topology) -> None:
        t.stream("in", str).repartition("r", partitions=1).process_values(Numbered, str, name="n").to("out")

    run = Driven(build, tasks=3)
    sent = [run.pipe("in", key, key, at)[0][1] for at, key in enumerate(KEYS)]
    assert sent == [f"{number} {key}" for number, key in enumerate(KEYS)]


class Numbered(Processor[str, str]):
    numbers = KeyValueStore("numbers", int)

    def process(self, event: str, ctx: Context[str]) -> None:
        number = self.numbers.get("all") or 0
        self.numbers.put("all", number + 1)
        ctx.forward(f"{number} {event}")


def test_partitioner_result_is_taken_modulo_the_number_of_partitions() -> None:
    run = Driven(in_partitions(2, partitioner=lambda key, _: int(key[1:])), tasks=3)
    run.feed("in", *((key, "v", at) for at, key in enumerate(KEYS)))
    assert tasks_of(run) == [sorted(KEYS[::2]), sorted(KEYS[1::2]), []]


def test_only_streams_with_equal_partition_counts_are_joined() -> None:
    def build(t: Topology, one: int, other: int) -> None:
        left = t.stream("a", str).repartition("ra", partitions=one)
        right = t.stream("b", str).repartition("rb", partitions=other)
        left.join(right, "{}{}".format, str, windows=within(5), store="j").to("out")

    run = Driven(lambda t: build(t, 2, 2), tasks=3)
    run.feed("a", *((key, "l", 1) for key in KEYS))
    assert len(run.feed("b", *((key, "r", 1) for key in KEYS))) == 20
    with pytest.raises(TopologyError, match=r"join j: keys are text \(in 2 partitions\) on one side and text \(in 4"):
        build(Topology(), 2, 4)


@pytest.mark.parametrize("partitions", [-1, 1.5, "2"])
def test_invalid_number_of_partitions_is_refused(partitions: Any) -> None:
    with pytest.raises(TopologyError, match=r"test_partitioners.py:\d+: repartition r: partitions=.* write a whole"):
        in_partitions(partitions)(Topology())


def test_record_goes_to_the_output_partition_chosen_by_the_partitioner() -> None:
    def by_length(_key: str, word: str | None) -> int | None:
        return len(word or "") or None

    run = Driven(lambda t: t.stream("in", str).to("out", partitioner=by_length), tasks=3)
    for word in ("ab", "", "x"):
        run.driver.pipe("k", word, "in")
    assert [sent.partition for sent in run.driver.outputs] == [2, None, 1]


def test_nonexistent_output_partition_sends_the_record_to_errors() -> None:
    run = Driven(lambda t: t.stream("in", str).to("out", partitioner=lambda _, __: 3), tasks=3)
    run.driver.pipe("k", "v", "in")
    (refused,) = run.driver.errors
    assert refused.headers["error.message"] == (
        "the partitioner of out returned 3, but out has 3 partitions: give one of 0 to 2, or add "
        "partitions and restart the job"
    )
    assert not run.driver.outputs


def test_a_topic_that_a_job_reads_itself_reaches_the_task_of_the_partition() -> None:
    def build(t: Topology) -> None:
        t.stream("in", str).to("own", partitioner=lambda _, word: int(word or "0"))
        t.stream("own", str).group_by_key().count(store="counts")

    run = Driven(build, tasks=3)
    run.feed("in", *(("k", str(n % 3), n) for n in range(6)))
    counts = [dict(store.all()) for p in run.driver.sub_topologies[-1].processors for store in [p.store0]]  # type: ignore[attr-defined]
    assert [sorted(row) for row in counts] == [["k"]] * 3


def in_one_partition(t: Topology, topic: str) -> Any:
    return t.stream(topic, str).repartition(f"{topic}-in-one", partitions=1)


def test_rows_that_are_distributed_by_a_partitioner_are_found_by_foreign_key() -> None:
    def build(t: Topology) -> None:
        owners = in_one_partition(t, "owners").to_table(store="owners")
        pets = t.table("pets", str, store="pets")
        pets.join_by_foreign_key(owners, lambda _, owner: owner, "{}+{}".format, str, store="owned").to_stream().to("o")

    run = Driven(build, tasks=3)
    run.feed("owners", *((key, f"of {key}", 1) for key in KEYS))
    sent = run.feed("pets", *((f"pet {key}", key, 2) for key in KEYS))
    assert sent == [(f"pet {key}", f"{key}+of {key}", 2) for key in KEYS]


def stream_by_hash(t: Topology) -> Any:
    return in_one_partition(t, "a").repartition("by-hash")


def stream_of_processor(t: Topology) -> Any:
    return in_one_partition(t, "a").process(Numbered, str, name="numbers")


def stream_of_foreign_rows(t: Topology) -> Any:
    table, others = in_one_partition(t, "a").to_table(store="a"), t.table("c", str, store="c")
    return table.join_by_foreign_key(others, lambda key, _: key, "{}{}".format, str, store="fk").to_stream()


@pytest.mark.parametrize("stream_of", [stream_by_hash, stream_of_processor, stream_of_foreign_rows])
def test_keys_repartitioned_by_hash_join_only_keys_partitioned_alike(stream_of: Any) -> None:
    def with_table(t: Topology) -> None:
        stream_of(t).join(t.table("b", str, store="b"), "{}+{}".format, str).to("out")

    run = Driven(with_table, tasks=3)
    run.feed("b", *((key, "b", 1) for key in KEYS))
    if stream_of is stream_of_foreign_rows:
        run.feed("c", *((key, "c", 1) for key in KEYS))
    assert len(run.feed("a", *((key, "a", 2) for key in KEYS))) == 20
    t = Topology()
    with pytest.raises(TopologyError, match=r"keys are text on one side and text \(in 1 partitions\) on the other"):
        stream_of(t).join(in_one_partition(t, "b").to_table(store="b"), "{}{}".format, str)
