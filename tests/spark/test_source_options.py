"""The options of a read have names, defaults, and error messages for invalid values."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from forebay.spark.errors import OptionError
from forebay.spark.sink_options import read_options
from forebay.spark.source_options import Bound, Mode, Timestamp, read_source_options

GIVEN = {"subscribe": "a, b", "bootstrapServers": "localhost:1", "schemaRegistryUrl": "http://localhost:2"}


def test_defaults() -> None:
    options = read_source_options(GIVEN)
    assert (options.topics, options.key.format, options.value.format) == (("a", "b"), "string", "auto")
    assert (options.start, options.end, options.max_offsets, options.fails_on_loss) == (None, None, 0, True)
    assert options.mode is Mode.FAIL


def test_names_of_sparks_kafka_source_are_taken_in_any_case() -> None:
    options = read_source_options(
        {
            "SUBSCRIBEPATTERN": "o.*",
            "kafka.bootstrap.servers": "localhost:1",
            "schemaRegistryUrl": "http://localhost:2",
            "startingoffsets": '{"a": {"0": -2, "1": 7}}',
            "endingTimestamp": "1970-01-01T00:00:01Z",
            "maxOffsetsPerTrigger": "9",
            "failOnDataLoss": "FALSE",
            "kafka.client.id": "me",
        }
    )
    assert options.pattern == "o.*"
    assert options.settings.bootstrap_servers == "localhost:1"
    assert options.settings.kafka["client.id"] == "me"
    assert options.start == {"a": {0: -2, 1: 7}}
    assert options.end == Timestamp(1_000)
    assert (options.max_offsets, options.fails_on_loss) == (9, False)
    assert read_source_options({**GIVEN, "startingOffsets": "latest"}).start is Bound.LATEST


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"subscribe": ""}, r'option\("subscribe", "orders"\) or'),
        ({"subscribePattern": "x"}, r'option\("subscribe", "orders"\) or'),
        ({"startingOffset": "1"}, "there is no option startingoffset; did you mean 'startingOffsets'"),
        ({"mode": "drop"}, "mode is drop: write one of fail, skip, column"),
        ({"valueFormat": "csv"}, "valueFormat is csv: write one of auto, avro"),
        ({"startingOffsets": "7"}, "startingOffsets is 7: write earliest, latest, or JSON"),
        ({"startingOffsets": "{"}, "write earliest, latest, or JSON"),
        ({"startingTimestamp": "noon"}, "startingTimestamp is noon: write milliseconds"),
        ({"startingOffsets": '{"a": {"0": 1.5}}'}, "write earliest, latest, or JSON"),
        ({"endingOffsets": '{"a": {"0": true}}'}, "write earliest, latest, or JSON"),
        ({"startingTimestamp": str(2**63)}, "startingTimestamp is 9223372036854775808: write milliseconds"),
        ({"subscribePattern": "o("}, r"subscribePattern is o\(: .*Write a regular expression"),
        ({"startingTimestamp": "1", "startingOffsets": "latest"}, "contradict each other"),
        ({"path": "orders"}, r'topics have no path orders: name them with option\("subscribe"'),
        ({"keySubject": "x", "keyFormat": "string"}, "keySubject does not apply to keyFormat=string"),
        ({"valueMessage": "A", "valueFormat": "bytes"}, "valueMessage does not apply to valueFormat=bytes"),
        (
            {"startingTimestamp": "2026-01-02T00:00:00+02:00", "endingTimestamp": "2026-01-01T21:59:59Z"},
            r"startingTimestamp 2026-01-02T00:00:00\+02:00 is after endingTimestamp 2026-01-01T21:59:59Z",
        ),
        ({"maxOffsetsPerTrigger": "-1"}, "maxOffsetsPerTrigger is -1: write a whole number"),
    ],
)
def test_invalid_options_are_refused_with_a_remedy(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        read_source_options({**GIVEN, **options})


def test_equal_times_are_an_empty_range() -> None:
    options = read_source_options({**GIVEN, "startingTimestamp": "1000", "endingTimestamp": "1970-01-01T00:00:01"})
    assert options.start == options.end == Timestamp(1_000)


@pytest.mark.parametrize("name", ["keySubject", "keySchemaId", "keyMessage"])
def test_a_key_with_a_chosen_schema_is_read_by_it(name: str) -> None:
    assert read_source_options({**GIVEN, name: "7"}).key.format == "auto"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": "orders"}, r'a topic has no path orders: name it with option\("topic", "orders"\)'),
        ({"valueSchemaId": "7", "valueFormat": "string"}, "valueSchemaId does not apply to valueFormat=string"),
        ({"keyFormat": "string"}, r'keyFormat needs the columns of the key: add option\("keyColumns"'),
        ({"keySubject": "orders-key"}, "keySubject needs the columns of the key"),
    ],
)
def test_sink_refuses_unsupported_options(options: dict[str, str], message: str) -> None:
    given = {"topic": "a", "bootstrapServers": "localhost:1", "schemaRegistryUrl": "http://localhost:2"}
    with pytest.raises(OptionError, match=message):
        read_options({**given, **options})


@pytest.mark.parametrize("name", ["bootstrapServers", "schemaRegistryUrl"])
def test_missing_connection_error_names_the_option(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("FOREBAY_BOOTSTRAP_SERVERS", "FOREBAY_SCHEMA_REGISTRY_URL"):
        monkeypatch.delenv(variable, raising=False)
    given = {option: text for option, text in GIVEN.items() if option != name}
    with pytest.raises(OptionError, match=rf'option\("{name}", '):
        read_source_options(given)


@pytest.mark.parametrize(
    ("key", "value"), [("string", "string"), ("bytes", "long"), ("string", "auto"), ("avro", "bytes")]
)
def test_only_parts_with_schemas_need_a_registry(key: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FOREBAY_SCHEMA_REGISTRY_URL", raising=False)
    source = {"subscribe": "a", "bootstrapServers": "localhost:1", "keyFormat": key, "valueFormat": value}
    sink = {name: text for name, text in source.items() if name != "subscribe"} | {"topic": "a", "keyColumns": "id"}
    reads: list[Callable[[], object]] = [lambda: read_source_options(source), lambda: read_options(sink)]
    for read in reads:
        if {key, value} & {"auto", "avro"}:
            with pytest.raises(OptionError, match="schemaRegistryUrl"):
                read()
        else:
            read()
    without_key = {name: text for name, text in sink.items() if not name.startswith("key")} | {"valueFormat": "string"}
    assert read_options(without_key).topic == "a"
