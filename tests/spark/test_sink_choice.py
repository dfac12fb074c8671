"""The sink's driver decides on options, columns, schemas and the encoding of rows before anything is written."""

from __future__ import annotations

import datetime
import json
import pickle
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as spark

from forebay.kafka.errors import KafkaSettingsError
from forebay.serde.schema import RegisteredSchema, Schema
from forebay.serde.subjects import AVRO, LocalSubjects
from forebay.spark.errors import OptionError
from forebay.spark.sink_encoding import Encoding, Request, choose_encoding
from forebay.spark.sink_options import read_options
from forebay.spark.sink_records import Digest, RowPlan, SinkRecord, check_columns
from forebay.spark.sink_values import ColumnMismatch, ValueMismatch, python_rows

CONNECTION = {"bootstrapServers": "broker:9092", "schemaRegistryUrl": "http://registry:8081"}
TEXT = json.dumps({"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]})
NONE = spark.StructType()


class Registry(LocalSubjects):
    def __init__(self) -> None:
        super().__init__()
        self.kinds: dict[int, str] = {}

    def kind(self, schema_id: int) -> str:
        return self.kinds[schema_id]

    def register(self, subject: str, schema: Schema, kind: str = AVRO, schema_id: int = 0) -> RegisteredSchema:
        registered = super().register(subject, schema, kind, schema_id)
        self.kinds[registered.schema_id] = kind
        return registered


def row(*columns: tuple[str, spark.DataType]) -> spark.StructType:
    return spark.StructType([spark.StructField(name, kind) for name, kind in columns])


IDS = row(("id", spark.LongType()))


def test_options_are_read_without_regard_to_case() -> None:
    given = {**CONNECTION, "TOPIC": "orders", "keycolumns": "a, b", "ValueFormat": "AVRO", "kafka.linger.ms": "5"}
    options = read_options({**given, "checkpointLocation": "/c", "transactionTimeoutMs": "2000"})
    assert (options.topic, options.key_columns, options.value.format) == ("orders", ("a", "b"), "avro")
    assert (options.settings.bootstrap_servers, options.transaction_seconds) == ("broker:9092", 2.0)
    assert options.settings.producer()["linger.ms"] == "5"
    assert pickle.loads(pickle.dumps(options)) == options, "all tasks get the same schema"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"needs a topic: write option\(\"topic\""),
        ({"topic": "t", "keyColum": "a"}, "did you mean keyColumns"),
        ({"topic": "t", "valueFormat": "xml"}, "write one of auto, avro"),
        ({"topic": "t", "registerSchema": "yes"}, "write one of false, true"),
        ({"topic": "t", "valueSchemaId": "new"}, "write a whole number"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        read_options({**CONNECTION, **options})


def test_options_required_for_exactly_once_can_not_be_changed() -> None:
    with pytest.raises(KafkaSettingsError, match=r"enable\.idempotence can't be set"):
        read_options({**CONNECTION, "topic": "t", "kafka.enable.idempotence": "false"})


def test_the_subject_s_schema_decides_how_values_are_written() -> None:
    registry = Registry()
    number = registry.register("orders-value", Schema(TEXT)).schema_id
    encoding = choose_encoding(Request(part="value", topic="orders"), IDS, NONE, registry)
    assert (encoding.format, encoding.schema_id) == ("avro", number)
    assert encoding.encoder()({"id": 1}) == b"\0" + number.to_bytes(4, "big") + b"\x02"


def test_key_column_is_in_the_value_only_if_the_schema_contains_it() -> None:
    registry = Registry()
    registry.register("orders-value", Schema(TEXT))
    encoding = choose_encoding(
        Request(part="value", topic="orders"), NONE, row(("ID", spark.LongType()), ("k", spark.StringType())), registry
    )
    assert encoding.row.fieldNames() == ["ID"]


def test_columns_that_do_not_fit_are_refused_with_the_subject() -> None:
    registry = Registry()
    registry.register("orders-value", Schema(TEXT))
    with pytest.raises(ColumnMismatch, match=r"orders-value \(schema id 1\): the column id is STRING"):
        choose_encoding(Request(part="value", topic="orders"), row(("id", spark.StringType())), NONE, registry)
    with pytest.raises(ColumnMismatch, match="set valueFormat to avro"):
        choose_encoding(Request(part="value", topic="orders", format="protobuf"), IDS, NONE, registry)


@pytest.mark.parametrize("name", ["avro", "json_schema", "protobuf"])
def test_a_subject_without_a_schema_gets_one_only_if_asked(name: str) -> None:
    registry = Registry()
    request = Request(part="value", topic="2.orders", format=name)
    with pytest.raises(ColumnMismatch, match=r"no schema for the subject 2\.orders-value: .*registerSchema"):
        choose_encoding(request, IDS, NONE, registry)
    assert registry.newest("2.orders-value") is None
    asked = Request(part="value", topic="2.orders", format=name, registers=True)
    encoding = choose_encoding(asked, IDS, NONE, registry)
    assert registry.newest("2.orders-value") is not None
    assert choose_encoding(request, IDS, NONE, registry) == encoding, "the next start uses the registered schema"


def test_a_schema_can_be_named_by_its_id() -> None:
    registry = Registry()
    first = registry.register("orders-value", Schema(TEXT)).schema_id
    registry.register("orders-value", Schema(TEXT.replace("long", "string")))
    request = Request(part="value", topic="orders", schema_id=first)
    assert choose_encoding(request, IDS, NONE, registry).schema_id == first


@pytest.mark.parametrize(
    ("name", "kind", "value", "data"),
    [
        ("string", spark.StringType(), "ü", "ü".encode()),
        ("bytes", spark.BinaryType(), b"\0", b"\0"),
        ("int", spark.ShortType(), 1, b"\0\0\0\1"),
        ("long", spark.IntegerType(), -1, b"\xff" * 8),
        ("double", spark.DoubleType(), 1.0, b"\x3f\xf0\0\0\0\0\0\0"),
        ("boolean", spark.BooleanType(), True, b"\1"),
        ("string", spark.StringType(), None, None),
    ],
)
def test_a_format_without_a_schema_writes_kafka_s_own_bytes(
    name: str, kind: spark.DataType, value: Any, data: bytes | None
) -> None:
    assert Encoding(name, row(("c", kind))).encoder()({"c": value}) == data


def test_a_format_without_a_schema_takes_one_column_of_its_type() -> None:
    for columns in (row(("c", spark.LongType())), row(("a", spark.StringType()), ("b", spark.StringType()))):
        with pytest.raises(ColumnMismatch, match="takes one column of type"):
            choose_encoding(Request(part="value", topic="t", format="string"), columns, NONE, Registry())


def test_a_row_becomes_a_record() -> None:
    text = row(("v", spark.StringType()))
    plan = RowPlan(
        value=Encoding("string", text),
        key=Encoding("string", row(("k", spark.StringType()))),
        headers="h",
        timestamp="t",
        partition="p",
        partitions=3,
    )
    moment = datetime.datetime(2024, 1, 1, 0, 0, 0, 1_999, tzinfo=datetime.UTC)
    read = pickle.loads(pickle.dumps(plan)).reader()
    full = {"k": "a", "v": "b", "h": [{"key": "x", "value": b"1"}], "t": moment, "p": 2}
    assert read(full) == SinkRecord(b"a", b"b", [("x", b"1")], 1_704_067_200_001, 2)
    assert read({**full, "h": [("x", "1")]}).headers == [("x", b"1")]
    assert read(dict.fromkeys(full)) == SinkRecord(None, None, None, 0, -1)
    for change in ({"p": 3}, {"p": -1}, {"t": 0}, {"h": [{"key": None, "value": b""}]}):
        with pytest.raises(ValueMismatch):
            read({**full, **change})


def test_columns_that_options_name_must_exist_and_have_their_types() -> None:
    columns = row(("a", spark.StringType()), ("a2", spark.StringType()))
    with pytest.raises(ColumnMismatch, match=r"keyColumns \(k\): the DataFrame has no column k"):
        check_columns(columns, {"keyColumns (k)": "k"})
    for option in ("headersColumn", "timestampColumn", "partitionColumn"):
        with pytest.raises(ColumnMismatch, match=f"{option}: the column a is STRING, not"):
            check_columns(columns, {option: "a"})
    with pytest.raises(ColumnMismatch, match="several columns a"):
        check_columns(row(("a", spark.StringType()), ("a", spark.StringType())), {})


def test_digest_depends_on_content_not_on_order_or_schema_ids() -> None:
    records = [SinkRecord(b"k", b"\0\0\0\0\1%d" % number, None, 0, -1) for number in range(3)]

    def digest(*chosen: SinkRecord, ids: tuple[int, int] = (0, 1)) -> tuple[int, str]:
        total = Digest(ids)
        for record in chosen:
            total.add(record)
        return total.rows, total.text

    other_id = [record._replace(value=b"\0\0\0\0\2" + (record.value or b"")[5:]) for record in records]
    assert digest(*records) == digest(*reversed(records)) == digest(*other_id)
    assert (
        len({digest(*records), digest(*records[:2]), digest(records[0], *records[:2]), digest(*records, ids=(0, 0))})
        == 4
    )


@pytest.mark.parametrize(
    "column", [pa.array([2_932_897], pa.date32()), pa.array([253_402_300_800_000_000], pa.timestamp("us", tz="UTC"))]
)
def test_a_time_that_python_lacks_is_refused_with_its_remedy(column: pa.Array) -> None:
    batch = pa.RecordBatch.from_arrays([column], ["at"])
    with pytest.raises(ValueMismatch, match=r"^orders: a DATE or TIMESTAMP is outside of the years 1 to 9999.*CAST"):
        python_rows(batch, "orders")
