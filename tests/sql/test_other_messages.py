"""Records with a different Protobuf message than that of the columns go to `.errors`."""

from __future__ import annotations

import pytest

from forebay.serde.framing import header
from forebay.serde.proto_messages import class_of, message_of, path_bytes
from forebay.serde.schema import Schema
from forebay.serde.subjects import PROTOBUF, LocalSubjects
from tests.sql.driven import Driven

ORDERS = 'syntax = "proto3"; message Order { int32 id = 1; }'
RENAMED = 'syntax = "proto3"; message Purchase { int32 id = 1; } message Refund { int32 id = 1; }'
REFUNDS = 'syntax = "proto3"; message Refund { int32 id = 1; }'
HEAD = "CREATE STREAM t {} WITH (KAFKA_TOPIC='t', KEY_FORMAT='NONE', VALUE_FORMAT='PROTOBUF');\n"
SELECT = "CREATE STREAM o WITH (VALUE_FORMAT='JSON') AS SELECT id FROM t;"


def record(registry: LocalSubjects, subject: str, text: str, name: str = "", number: int = 7) -> bytes:
    message = message_of(text, name)
    head = header(registry.register(subject, Schema(text), PROTOBUF).schema_id) + path_bytes(message)
    data: bytes = head + class_of(message)(id=number).SerializeToString()
    return data


@pytest.mark.parametrize("columns", ["", "(id INT)"], ids=["omitted", "declared"])
def test_only_a_renamed_message_of_the_subject_is_read_as_the_columns(columns: str, registry: LocalSubjects) -> None:
    orders = record(registry, "t-value", ORDERS)
    driven = Driven(HEAD.format(columns) + SELECT)
    records = (
        orders,
        record(registry, "t-value", RENAMED, "Purchase", 8),
        record(registry, "t-value", RENAMED, "Refund", 9),
        record(registry, "other-value", REFUNDS, number=10),
        record(registry, "another-value", ORDERS, number=7),
    )
    for at, data in enumerate(records):
        driven.driver.pipe_bytes(None, data, at, "t")
    numbers = [output.value[0] for output in driven.driver.outputs]
    if columns:
        # Without a chosen message, a column is the field with the same name, as in ksqlDB.
        assert numbers == [7, 8, 9, 10, 7]
    else:
        assert numbers == [7, 8, 7]
        assert [
            "a message Refund, not Order: choose with VALUE_SCHEMA_FULL_NAME" in str(error)
            for error in driven.driver.errors
        ] == [True, True]
