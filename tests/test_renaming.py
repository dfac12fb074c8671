"""Topics may have other names on a user's broker: what is renamed, what is not, and errors for wrong names."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from forebay.catalog import find_service
from forebay.cli.main import run
from forebay.demo.plan import DemoPlan
from forebay.kafka.acls import Role, rights
from forebay.limits.tasks import task_limits
from forebay.processor.engine import TaskEngine
from forebay.processor.engine_settings import EngineSettings
from forebay.runtime.task.partition_queue import InputPartition
from forebay.service.renaming import WrongTopics, actual_names, actual_topics, rename, taken_names
from forebay.stores.memory import MemoryTable
from forebay.testing.shown import PipedRecord
from tests.runtime.task_records import CODECS, Number, Sum

SERVICE = find_service("order-payments")
NAMES = {"payments": "prod.payments", "order_payments": "prod.paid"}


def test_inputs_and_outputs_have_other_names_and_the_rest_its_own() -> None:
    result = rename(SERVICE, NAMES)
    assert [topic.name for topic in result.inputs] == ["placed_orders", "prod.payments"]
    assert [topic.name for topic in result.outputs] == ["prod.paid"]
    assert [topic.declared for topic in (*result.inputs, *result.outputs)] == [
        "placed_orders",
        "payments",
        "order_payments",
    ]
    assert result.own_topics("order-payments", 2) == SERVICE.own_topics("order-payments", 2)
    assert result.outputs[0].config == SERVICE.outputs[0].config
    assert actual_names((*result.inputs, *result.outputs)) == NAMES
    assert actual_topics(result.inputs, {"payments", "placed_orders"}) == {"prod.payments", "placed_orders"}


def test_named_again_the_declared_names_count() -> None:
    twice = rename(rename(SERVICE, NAMES), {"payments": "other"})
    assert actual_names((*twice.inputs, *twice.outputs)) == {"payments": "other", "order_payments": "prod.paid"}


def test_rights_and_limits_are_those_of_the_new_names() -> None:
    result = rename(SERVICE, NAMES)
    granted = {right.name for right in rights(result, SERVICE.name, Role.RUN)}
    assert {"placed_orders", "prod.payments", "prod.paid"} < granted
    assert not {"payments", "order_payments"} & granted
    assert task_limits(result).outputs["order_payments"].topic == "prod.paid"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"payment": "x"}, r"order-payments has no input or output topic payment: choose from order_payments, "),
        ({"payments": "a b"}, r"'a b' is not a name that Kafka takes for a topic: .* write 'a_b'"),
        ({"payments": "placed_orders"}, r"payments and placed_orders would both be placed_orders: give each"),
        ({"payments": "x", "order_payments": "x"}, r"order_payments and payments would both be x"),
        ({"payments": "order-payments.errors"}, r"payments and a topic of the job itself would both be order-payments"),
    ],
)
def test_names_that_make_no_sense_are_refused(names: dict[str, str], message: str) -> None:
    with pytest.raises(WrongTopics, match=message):
        rename(SERVICE, names)


def test_of_several_services_each_takes_its_own() -> None:
    other = find_service("user-sessions")
    taken = taken_names((SERVICE, other), {"payments": "x", "user_activity": "y"})
    assert taken == {"order-payments": {"payments": "x"}, "user-sessions": {"user_activity": "y"}}
    with pytest.raises(WrongTopics, match="order-payments, user-sessions have no input or output topic nothing"):
        taken_names((SERVICE, other), {"nothing": "x"})


def test_logic_and_counts_use_the_declared_name_and_errors_the_actual_one() -> None:
    codecs = dataclasses.replace(CODECS, names={"prod.numbers": "numbers"})
    engine = TaskEngine(Sum(), codecs, MemoryTable(), EngineSettings("sums"))
    good = CODECS.inputs["numbers"].encode(Number("a", 1, 1000))
    records = [PipedRecord("prod.numbers", 0, b"k", value, 1000, []) for value in (good, b"no avro")]
    engine.run([records], 2000)
    result = engine.finish(1)
    assert result.records_by_topic == {"numbers": 2}
    assert len(result.outputs) == 1
    (error,) = result.errors
    assert dict(error.headers)["error.topic"] == b"prod.numbers"


def test_records_of_equal_times_come_in_the_order_of_the_declared_names() -> None:
    first = InputPartition("z.payments", 0, 1, 0, name="payments")
    second = InputPartition("a.placed", 0, 1, 0, name="placed_orders")
    assert first.order < second.order


@pytest.mark.parametrize("command", ["run", "check", "acl", "produce", "demo", "reset", "restore"])
def test_every_command_that_needs_them_takes_names(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    what = "user_activity" if command == "produce" else "user-sessions"
    assert run([command, what, "--topic", "user_activity"]) == 2
    assert "'user_activity' is not NAME=TOPIC, such as user_activity=prod.clicks" in capsys.readouterr().err
    assert run([command, what, "--topic", "a=x", "--topic", "b=x"]) == 2
    assert "two topics would be renamed to x" in capsys.readouterr().err
    assert run([command, what, "--topic", "a=x", "--topic", "a=y"]) == 2
    assert "a is renamed twice" in capsys.readouterr().err
    assert run([command, what, "--topic", "nothing=x"]) == 2
    assert "--topic: " in capsys.readouterr().err


def test_the_demo_lists_its_producers_and_jobs() -> None:
    result = rename(find_service("user-sessions"), {"user_activity": "clicks"})
    plan = DemoPlan(Path("/home"), (result,), rate=1, keys=1, seed=1, memory_mb=400, duration_s=None)
    ((producer,),) = plan.producers()
    assert producer.name == "producer clicks"
    for child, name in ((producer, "user_activity"), (plan.jobs(1), "user-sessions")):
        assert child._command[4] == name
        assert child._command[-1] == "--topic=user_activity=clicks"
