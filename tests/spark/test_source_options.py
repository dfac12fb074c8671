"""Options of a read: names, defaults, and error messages."""

from __future__ import annotations

import pytest

from forebay.spark.errors import OptionError
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
        ({"startingTimestamp": "1", "startingOffsets": "latest"}, "contradict each other"),
        ({"maxOffsetsPerTrigger": "-1"}, "maxOffsetsPerTrigger is -1: write a whole number"),
    ],
)
def test_a_mistake_is_answered_with_what_to_write(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        read_source_options({**GIVEN, **options})
