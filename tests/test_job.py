"""A job accepts valid declarations, and rejects invalid ones."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from forebay.builder.changes import change_format
from forebay.formats import TEXT, avro, contract_of
from forebay.job import Job, Stage, SubTopology, TopicFormat
from tests.runtime.task_records import Number, Sum, Total


@dataclass(frozen=True)
class Settings:
    pass


def test_only_inputs_can_be_tables() -> None:
    with pytest.raises(ValueError, match="tables prices are not inputs: choose from numbers, orders"):
        Job(
            inputs={"numbers": Number, "orders": Number},
            outputs={"totals": Total},
            settings=Settings,
            processor=lambda _: Sum(),
            tables=frozenset({"prices", "orders"}),
        )


def chain() -> Job:
    return Job(
        {"in": Number}, {"out": Total}, Settings, lambda _: Sum(), then=(Stage("sums", Number, lambda _: Sum()),)
    )


def test_a_chain_is_a_graph_of_sub_topologies() -> None:
    first, second = chain().topology
    assert (first.name, first.inputs, first.sends) == ("", {"in": Number}, frozenset({"sums"}))
    assert (second.name, second.inputs, second.sends) == ("sums", {}, frozenset())
    assert second.repartitions == {"sums": Number}
    assert [sender.name for sender in chain().senders("sums")] == [""]
    with pytest.raises(KeyError, match=r"there is no sub-topology 'x'"):
        chain().sub_topology("x")


def part(name: str, reads: list[str], sends: list[str]) -> SubTopology:
    return SubTopology(name, lambda _: Sum(), {}, dict.fromkeys(reads, Number), frozenset(sends))


def graph(*parts: SubTopology) -> Job:
    return Job({"in": Number}, {"out": Total}, Settings, lambda _: Sum(), graph=parts)


def test_several_may_send_to_one_repartition_and_read_several() -> None:
    job = graph(part("", [], ["a", "b"]), part("a", ["a"], ["b"]), part("b", ["b"], []))
    assert [sender.name for sender in job.senders("b")] == ["", "a"]


def test_only_formats_with_a_contract_name_one() -> None:
    job = Job({"in": Number}, {"out": str}, Settings, lambda _: Sum(), formats={"out": TopicFormat(value=TEXT)})
    assert (job.contract("in", Number), job.contract("out", str)) == ("Number", "")


def test_a_format_around_records_needs_their_contract() -> None:
    assert contract_of(change_format(avro(Number))) == "Number"
    assert contract_of(change_format(TEXT)) == ""


def test_a_topic_that_no_earlier_step_sends_can_not_be_read() -> None:
    with pytest.raises(ValueError, match=r"'a' reads a, to which no earlier sub-topology sends: put"):
        graph(part("a", ["a"], ["a"]))


def test_a_job_is_a_chain_or_a_graph() -> None:
    with pytest.raises(ValueError, match="then= and graph= exclude each other"):
        replace(chain(), graph=(part("", [], []),))


def always(processor: Any) -> Any:
    return lambda _: processor


SHARED = "the function returns the same Sum each time it is called, but each task needs its own: create the Sum inside"


def test_a_function_that_returns_one_processor_for_all_tasks_is_refused() -> None:
    with pytest.raises(ValueError, match=f"^the job's processor: {SHARED}"):
        Job({"in": Number}, {"out": Total}, Settings, always(Sum()))


def test_it_is_refused_in_every_sub_topology_of_a_chain_and_of_a_graph() -> None:
    with pytest.raises(ValueError, match=f"^the sub-topology 'sums': {SHARED}"):
        replace(chain(), then=(Stage("sums", Number, always(Sum())),))
    with pytest.raises(ValueError, match=f"^the sub-topology 'b': {SHARED}"):
        graph(part("", [], ["b"]), SubTopology("b", always(Sum()), {}, {"b": Number}))


@pytest.mark.parametrize(
    ("logic", "message"),
    [
        (Sum(), "one Sum can't serve all tasks: to create one for each task, pass the class Sum or a function"),
        (lambda _: 1, "1 is not a Processor: pass a subclass of Processor, or a function that creates one"),
        (partial(lambda processor, _: processor, Sum()), SHARED),
    ],
    ids=["an instance", "no processor", "a partial function"],
)
def test_logic_that_makes_no_processor_for_each_task_is_refused(logic: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^the job's processor: {message}"):
        Job({"in": Number}, {"out": Total}, Settings, logic)


def test_logic_that_makes_a_processor_in_each_call_is_accepted() -> None:
    for logic in (lambda _: Sum(), partial(lambda make, _: make(), Sum)):
        assert isinstance(Job({"in": Number}, {"out": Total}, Settings, logic).logic(0)(Settings()), Sum)
