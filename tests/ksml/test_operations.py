"""Each operation of KSML has the results of the corresponding operation of Kafka Streams."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.ksml.partition_times import PartitionTimes
from tests.ksml.running import NUMBERS, driver, results, through

JSON_OF_KEY = "\n- {type: convertKey, into: 'json:windowed(string)'}\n"
OUT = """
streams:
  numbers: {topic: numbers, keyType: string, valueType: json}
  others: {topic: others, keyType: string, valueType: json}
  results: {topic: results, keyType: json, valueType: json}
tables:
  names: {topic: names, keyType: string, valueType: json}
  places: {topic: places, keyType: string, valueType: json}
globalTables:
  prices: {topic: prices, keyType: string, valueType: json}
"""


def join_results(text: str, *records: tuple[Any, ...], via: str = "") -> list[tuple[Any, Any]]:
    run = driver(f"{OUT}\npipelines:\n{text}")
    for number, (topic, key, value, *at) in enumerate(records):
        run.pipe(key, value, topic, at[0] if at else number)
    run.advance(100_000)
    assert not run.driver.errors
    return results(run)


@pytest.mark.parametrize(
    ("via", "sent"),
    [
        ("{type: filter, if: {expression: value > 1}}", [("a", 2)]),
        ("{type: filterNot, if: {expression: value > 1}}", [("a", 1)]),
        ("{type: transformValue, mapper: {expression: value * 10, resultType: int}}", [("a", 10), ("a", 20)]),
        ("{type: selectKey, mapper: {expression: key + '!', resultType: string}}", [("a!", 1), ("a!", 2)]),
        (
            "{type: map, mapper: {expression: '(key * 2, -value)', resultType: '(string, int)'}}",
            [("aa", -1), ("aa", -2)],
        ),
        (
            "{type: flatMap, mapper: {expression: '[(key, value)] * value', resultType: 'list(tuple(string, int))'}}",
            [("a", 1), ("a", 2), ("a", 2)],
        ),
        (
            "{type: flatMapValues, mapper: {expression: '[value] * value', resultType: list(int)}}",
            [("a", 1), ("a", 2), ("a", 2)],
        ),
        ("{type: convertValue, into: string}", [("a", 1), ("a", 2)]),
        ("{type: repartition}", [("a", 1), ("a", 2)]),
    ],
)
def test_a_stream_is_changed_record_by_record(via: str, sent: list[tuple[Any, Any]]) -> None:
    run = through(f"\n- {via}", ("a", 1), ("a", 2))
    assert results(run) == sent
    assert not run.driver.errors


def test_metadata_is_changed() -> None:
    run = through(
        """
        - type: transformMetadata
          mapper:
            code: |
              metadata["headers"] = metadata["headers"] + [{"key": "by", "value": key}]
              metadata["timestamp"] += 5
            expression: metadata
        """,
        ("a", 1, 100),
    )
    (sent,) = run.sent
    assert (sent.timestamp, sent.headers) == (105, (("by", b"a"),))


@pytest.mark.parametrize("shift", [-5_000, 0, 1_000])
def test_windows_use_the_timestamps_that_a_function_sets(shift: int) -> None:
    run = driver(
        f"""{OUT}
pipelines:
  main:
    from: numbers
    via:
      - type: transformMetadata
        mapper:
          code: metadata["timestamp"] = value
          expression: metadata
      - {{type: groupByKey}}
      - {{type: windowByTime, windowType: tumbling, duration: 10ms}}
      - {{type: count}}
      - {{type: toStream}}
      - {{type: mapKey, mapper: {{expression: "[key['key'], key['start']]", resultType: json}}}}
    to: results
"""
    )
    for at in (1_001, 1_002, 1_013, 1_026):
        run.pipe("a", at, "numbers", at - shift)
    assert results(run) == [(["a", 1_000], 1), (["a", 1_000], 2), (["a", 1_010], 1), (["a", 1_020], 1)]
    assert not run.driver.late


def test_groups_are_counted_reduced_and_aggregated() -> None:
    records = [("a", 1), ("b", 5), ("a", 3)]
    counted = through("\n- {type: groupByKey}\n- {type: count}\n- {type: toStream}", *records)
    assert results(counted) == [("a", 1), ("b", 1), ("a", 2)]
    reduced = through(
        "\n- {type: groupByKey}\n- {type: reduce, reducer: {expression: value1 + value2, resultType: json}}", *records
    )
    assert results(reduced) == [("a", 1), ("b", 5), ("a", 4)]
    aggregated = through(
        """
        - type: groupBy
          mapper: {expression: "'odd' if value % 2 else 'even'", resultType: string}
        - type: aggregate
          initializer: {expression: "[]", resultType: json}
          aggregator: {code: "aggregatedValue.append(value)", expression: aggregatedValue, resultType: json}
        """,
        *records,
    )
    assert results(aggregated) == [("odd", [1]), ("odd", [1, 5]), ("odd", [1, 5, 3])]


def test_windows_have_keys_with_start_and_end() -> None:
    run = driver(
        f"""{OUT}
pipelines:
  main:
    from: numbers
    via:
      - {{type: groupByKey}}
      - {{type: windowByTime, windowType: tumbling, duration: 10s, grace: 1s}}
      - {{type: count, store: {{type: window, name: counts, retention: 1h}}}}
      - {{type: toStream}}
      - {{type: convertKey, into: 'json:windowed(string)'}}
    to: results
"""
    )
    run.pipe("a", 1, "numbers", 12_500)
    (sent,) = run.sent
    assert sent.key == {
        "key": "a",
        "start": 10_000,
        "end": 20_000,
        "startTime": "1970-01-01T00:00:10Z",
        "endTime": "1970-01-01T00:00:20Z",
    }
    assert run.store("counts").retention_ms == 3_600_000  # type: ignore[union-attr]


def test_sessions_are_merged() -> None:
    via = """
    from: numbers
    via:
      - {type: groupByKey}
      - {type: windowBySession, inactivityGap: 5s, grace: 60s}
      - type: aggregate
        initializer: {expression: 0, resultType: long}
        aggregator: {expression: aggregatedValue + value, resultType: long}
        merger: {expression: value1 + value2, resultType: long}
      - {type: toStream}
      - {type: mapKey, mapper: {expression: "[key['key'], key['start'], key['end']]", resultType: json}}
    to: results
"""
    result = join_results(
        f"  main:{via}", ("numbers", "a", 1, 0), ("numbers", "a", 2, 8_000), ("numbers", "a", 4, 4_000)
    )
    assert result[-1] == (["a", 0, 8_000], 7)


def test_suppress_gives_a_window_once() -> None:
    via = """
    from: numbers
    via:
      - {type: groupByKey}
      - {type: windowByTime, windowType: tumbling, duration: 10}
      - {type: count}
      - {type: suppress, until: windowCloses, maxRecords: 100}
      - {type: toStream}
      - {type: mapKey, mapper: {expression: "key['start']", resultType: json}}
    to: results
"""
    result = join_results(f"  main:{via}", ("numbers", "a", 1, 1), ("numbers", "a", 1, 2), ("numbers", "a", 1, 31))
    assert result == [(0, 2), (30, 1)]


JOINER = "valueJoiner: {expression: '[key, value1, value2]', resultType: json}"


def test_streams_are_joined() -> None:
    others = "stream: others, timeDifference: 10s"
    ways = {"join": [["a", 1, 2]], "leftJoin": [["a", 1, 2], ["b", 3, None]]}
    for way, values in ways.items():
        result = join_results(
            f"  main: {{from: numbers, via: [{{type: {way}, {others}, {JOINER}}}], to: results}}",
            ("numbers", "a", 1, 0),
            ("others", "a", 2, 5_000),
            ("numbers", "b", 3, 6_000),
        )
        assert [value for _, value in result] == values


def test_a_stream_is_joined_with_a_table_and_with_a_global_table() -> None:
    result = join_results(
        f"  main: {{from: numbers, via: [{{type: leftJoin, table: names, {JOINER}}}], to: results}}",
        ("names", "a", "anna"),
        ("numbers", "a", 1),
        ("numbers", "b", 2),
    )
    assert [value for _, value in result] == [["a", 1, "anna"], ["b", 2, None]]
    mapper = "mapper: {expression: \"value['item']\", resultType: string}"
    result = join_results(
        f"  main: {{from: numbers, via: [{{type: join, globalTable: prices, {mapper}, {JOINER}}}], to: results}}",
        ("prices", "tea", 3),
        ("numbers", "a", {"item": "tea"}),
        ("numbers", "b", {"item": "pie"}),
    )
    assert result == [("a", ["a", {"item": "tea"}, 3])]


def test_tables_are_joined_by_key_and_by_foreign_key() -> None:
    result = join_results(
        f"  main: {{from: names, via: [{{type: outerJoin, table: places, {JOINER}}}], to: results}}",
        ("names", "a", "anna"),
        ("places", "a", "rome"),
        ("names", "a", None),
    )
    assert [value for _, value in result] == [["a", "anna", None], ["a", "anna", "rome"], ["a", None, "rome"]]
    foreign = "foreignKeyExtractor: {expression: value, resultType: string}"
    result = join_results(
        f"  main: {{from: names, via: [{{type: join, table: places, {foreign}, {JOINER}}}], to: results}}",
        ("names", "a", "north"),
        ("places", "north", "oslo"),
        ("places", "north", "bergen"),
    )
    assert [value for _, value in result] == [["a", "north", "oslo"], ["a", "north", "bergen"]]


def test_a_table_is_filtered_mapped_and_grouped() -> None:
    via = """
    from: names
    via:
      - {type: filter, if: {expression: "value != 'x'"}}
      - {type: mapValues, mapper: {expression: len(value), resultType: long}}
      - {type: groupBy, mapper: {expression: "('all', value)", resultType: '(string, long)'}}
      - type: aggregate
        initializer: {expression: 0, resultType: long}
        adder: {expression: aggregatedValue + value, resultType: long}
        subtractor: {expression: aggregatedValue - value, resultType: long}
      - {type: toStream}
    to: results
"""
    result = join_results(f"  main:{via}", ("names", "a", "anna"), ("names", "b", "bo"), ("names", "a", "x"))
    assert result == [("all", 4), ("all", 6), ("all", 2)]


def test_branches_and_chosen_topics() -> None:
    text = """
  main:
    from: numbers
    branch:
      - if: {expression: value > 10}
        as: big
      - to: others
  second:
    from: big
    via: [{type: merge, stream: others}]
    to: results
"""
    result = join_results(text, ("numbers", "a", 11), ("numbers", "b", 2))
    assert result == [("a", 11), ("b", 2), ("b", 2)]
    run = driver(
        f"""{NUMBERS}
pipelines:
  main:
    from: numbers
    toTopicNameExtractor:
      topicNameExtractor: {{code: "return 'results' if value > 1 else recordContext['topic'] + '-gone'"}}
"""
    )
    run.pipe("a", 2, "numbers")
    run.pipe("a", 1, "numbers")
    assert [sent.topic for sent in run.sent] == ["results"]
    assert (
        "'numbers-gone' was chosen, which is not one of numbers, results"
        in run.driver.errors[0].headers["error.message"]
    )


def test_a_timestamp_extractor_gives_the_time() -> None:
    run = driver(
        """
streams:
  numbers:
    topic: numbers
    keyType: string
    valueType: json
    timestampExtractor: {expression: "record['value']['at'] + max(previousTimestamp, 0)"}
pipelines:
  main: {from: numbers, to: {topic: results}}
"""
    )
    run.pipe("a", {"at": 100}, "numbers", 5)
    run.pipe("a", {"at": 7}, "numbers", 5)
    assert [sent.timestamp for sent in run.sent] == [100, 107]


def test_previous_timestamp_is_the_highest_of_the_partition() -> None:
    run = driver(
        """
streams:
  numbers:
    topic: numbers
    keyType: string
    valueType: json
    timestampExtractor:
      expression: "record['value']['at'] if record['value']['at'] >= 0 else previousTimestamp + 1_000"
pipelines:
  main: {from: numbers, to: {topic: results}}
"""
    )
    # `previousTimestamp` is the highest timestamp of the partition so far, not that of the previous record.
    for at in (100, 7, -1, 2_000, -1):
        run.pipe("a", {"at": at}, "numbers", 5)
    assert [sent.timestamp for sent in run.sent] == [100, 7, 1_100, 2_000, 3_000]


@pytest.mark.parametrize("restarts", [False, True])
def test_previous_timestamp_survives_a_restart(restarts: bool) -> None:
    run = driver(
        """
streams:
  numbers:
    topic: numbers
    keyType: string
    valueType: json
    timestampExtractor: {expression: "value['at'] if (value := record['value'])['at'] >= 0 else previousTimestamp"}
pipelines:
  main: {from: numbers, to: {topic: results}}
"""
    )
    for at in (100, -1, 7, -1, 200, -1):
        run.pipe("a", {"at": at}, "numbers", 5)
        if restarts:
            run.driver.restart()
    assert [sent.timestamp for sent in run.sent] == [100, 100, 7, 100, 200, 200]
    assert not run.driver.errors


def test_partition_times_are_separate_and_repeatable() -> None:
    times = PartitionTimes()
    assert times.before(0, 0) == -1
    times.advance(0, 0, 50)
    assert times.before(1, 0) == -1
    times.advance(1, 0, 7)
    assert times.before(0, 1) == 50
    times.advance(0, 1, 20)
    assert times.before(0, 2) == 50
    times.advance(0, 2, 80)
    assert times.before(0, 3) == 80
    times.advance(0, 3, -1)
    # A failed commit is repeated from offset 1.
    assert times.before(0, 1) == 50
    assert times.before(1, 1) == 7


def test_records_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    run = driver(
        f"{NUMBERS}\npipelines:\n  main: {{from: numbers, print: {{label: L, mapper: {{expression: key + '!'}}}}}}\n"
    )
    run.pipe("a", 1, "numbers")
    assert capsys.readouterr().out == "[L]: a!\n"


@pytest.mark.parametrize(
    ("windows", "sent"),
    [
        ("{type: windowByTime, windowType: sliding, timeDifference: 5ms, grace: 1ms}", [1, 3, 2]),
        ("{type: windowByTime, windowType: tumbling, duration: 10ms, grace: 1ms}", [3]),
        ("{type: windowBySession, inactivityGap: 5ms}", [3]),
    ],
)
def test_windows_of_every_kind_are_suppressed_until_they_close_and_null_deletes_a_row(
    windows: str, sent: list[int]
) -> None:
    via = f"""
      - {{type: groupByKey}}
      - {windows}
      - type: aggregate
        initializer: {{expression: 0, resultType: long}}
        aggregator: {{expression: "None if value == 0 else aggregatedValue + value", resultType: long}}
        merger: {{expression: value1 + value2, resultType: long}}
      - {{type: suppress, until: windowCloses}}
      - {{type: toStream}}
      - {{type: convertKey, into: 'json:windowed(string)'}}
"""
    run = through(via, ("a", 1, 10), ("a", 2, 12), ("b", 3, 12), ("b", 0, 12), ("a", 9, 90))
    assert not run.driver.errors
    assert [value for _, value in results(run)] == sent


@pytest.mark.parametrize(
    "strategy", ["", ", bufferFullStrategy: emitEarlyWhenFull", ", bufferFullStrategy: shutdownWhenFull"]
)
def test_a_full_buffer_gives_no_window_before_it_closes(strategy: str) -> None:
    via = f"""
      - {{type: groupByKey}}
      - {{type: windowByTime, windowType: tumbling, duration: 10}}
      - {{type: count}}
      - {{type: suppress, until: windowCloses, maxRecords: 1{strategy}}}
      - {{type: toStream}}
      - {{type: mapKey, mapper: {{expression: "key['key']", resultType: string}}}}
"""
    run = through(via, ("a", 1, 1), ("b", 1, 2), ("a", 1, 3), ("c", 1, 20))
    assert results(run) == [("a", 2)]
    assert [failure.headers["error.class"] for failure in run.driver.errors] == ["BufferFull"]


def test_a_row_whose_group_has_no_key_or_value_is_in_no_group() -> None:
    via = """
    from: names
    via:
      - type: groupBy
        mapper:
          expression: "(None if value == 'x' else 'all', None if value == 'y' else value)"
          resultType: "(string, json)"
      - {type: count}
      - {type: toStream}
    to: results
"""
    records = [
        ("names", "a", "anna"),
        ("names", "b", "bo"),
        ("names", "a", "y"),
        ("names", "b", "x"),
        ("names", "a", "an"),
    ]
    assert [value for _, value in join_results(f"  main:{via}", *records)] == [1, 2, 1, 0, 1]


CACHED = """
streams:
  results: {topic: results, keyType: string, valueType: json}
tables:
  names:
    topic: names
    keyType: string
    valueType: json
    store: {type: keyValue, name: names, caching: true, keyType: string, valueType: json}
pipelines:
  main: {from: names, via: [{type: toStream}, CHANGED], to: results}
"""
ROW = [("b", 10), ("a", 5)]


@pytest.mark.parametrize(
    ("operation", "sent"),
    [
        ("{type: peek, forEach: {expression: None}}", ROW),
        ("{type: transformValue, mapper: {expression: value, resultType: json}}", ROW),
        ("{type: filter, if: {expression: value > 1}}", ROW),
        ("{type: mapKey, mapper: {expression: 'key[:0]', resultType: string}}", [("", 1), ("", 10), ("", 5)]),
        (
            "{type: map, mapper: {expression: '(key[:0], value)', resultType: '(string, json)'}}",
            [("", 1), ("", 10), ("", 5)],
        ),
        (
            "{type: flatMapValues, mapper: {expression: '[value, -value]', resultType: list(json)}}",
            [("a", 1), ("a", -1), ("b", 10), ("b", -10), ("a", 5), ("a", -5)],
        ),
        (
            "{type: flatMap, mapper: {expression: '[(key, value)] * 2', resultType: 'list((string, json))'}}",
            [("a", 1), ("a", 1), ("b", 10), ("b", 10), ("a", 5), ("a", 5)],
        ),
    ],
)
def test_cache_does_not_drop_records_created_from_rows(operation: str, sent: list[tuple[Any, Any]]) -> None:
    run = driver(CACHED.replace("CHANGED", operation))
    run.driver.pipe_all([("names", "a", 1, 0), ("names", "b", 10, 1), ("names", "a", 5, 2)])
    assert results(run) == sent
    assert not run.driver.errors
