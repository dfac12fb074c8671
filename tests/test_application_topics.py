"""Two applications of one service share inputs and outputs, but have separate error, late and internal topics."""

from __future__ import annotations

from forebay.builder.description import picture_of
from forebay.catalog import all_services
from forebay.job import load_job
from forebay.kafka.acls import Role, rights
from forebay.limits.tasks import task_limits

SERVICES = all_services()

SERVICE = SERVICES["order-stores"]


def test_two_applications_share_inputs_and_outputs_only() -> None:
    one, two = ({topic.name for topic in SERVICE.topics(name, 4)} for name in ("one", "two"))
    assert one & two == {topic.name for topic in (*SERVICE.inputs, *SERVICE.outputs)}
    assert {"one.errors", "one.late"} < one


def test_without_an_application_they_are_the_services() -> None:
    assert {"order-stores.errors", "order-stores.late"} < {topic.name for topic in SERVICE.topics()}
    assert SERVICE.topics("order-stores", 4) == SERVICE.topics("", 4)


def test_rights_limits_and_picture_name_them() -> None:
    granted = {right.name for role in (Role.RUN, Role.CONSUME, Role.OPERATE) for right in rights(SERVICE, "one", role)}
    assert {"one.errors", "one.late"} < granted
    assert not any(name.startswith("order-stores.") for name in granted)
    limits = task_limits(SERVICE, "one")
    assert (limits.errors.topic, limits.late.topic) == ("one.errors", "one.late")
    assert picture_of(SERVICE, load_job(SERVICE.job), "one").sides == ("one.errors", "one.late")
