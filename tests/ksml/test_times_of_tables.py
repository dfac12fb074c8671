"""A timestampExtractor sets the time of a table's records, as for a stream. A topic has only one."""

from __future__ import annotations

import pytest

from tests.ksml.running import driver, refusal

EXTRACTOR = "timestampExtractor: {expression: \"record['value']['at']\"}"
PRICES = f"topic: prices, keyType: string, valueType: json, {EXTRACTOR}"
VERSIONED = "{name: prices, type: keyValue, versioned: true, historyRetention: 1h}"
JOINER = "valueJoiner: {expression: \"[value1, value2['price']]\", resultType: json}"


def test_a_versioned_table_is_ordered_by_the_extracted_time() -> None:
    run = driver(
        f"""
streams:
  orders: {{topic: orders, keyType: string, valueType: json}}
tables:
  prices: {{{PRICES}, store: {VERSIONED}}}
pipelines:
  main:
    from: orders
    via: [{{type: join, table: prices, {JOINER}}}]
    to: {{topic: results, keyType: string, valueType: json}}
"""
    )
    # The newer price arrives first, and the timestamp of both records is 0.
    run.pipe("tea", {"at": 100, "price": 2}, "prices")
    run.pipe("tea", {"at": 50, "price": 1}, "prices")
    for at in (49, 50, 99, 100, 500):
        run.pipe("tea", at, "orders", at)
    assert [sent.value for sent in run.sent] == [[50, 1], [99, 1], [100, 2], [500, 2]]


def test_a_table_s_changes_have_the_extracted_time() -> None:
    text = f"tables: {{prices: {{{PRICES}}}}}\npipelines: {{main: {{from: prices, to: {{topic: results}}}}}}\n"
    run = driver(text)
    run.pipe("tea", {"at": 100}, "prices", 5)
    assert [sent.timestamp for sent in run.sent] == [100]


@pytest.mark.parametrize(
    ("one", "other"),
    [(EXTRACTOR, ""), ("", EXTRACTOR), (EXTRACTOR, "timestampExtractor: {expression: previousTimestamp}")],
)
def test_a_topic_that_is_read_twice_has_one_extractor(one: str, other: str) -> None:
    said = refusal(
        f"""
streams:
  a: {{topic: numbers, keyType: string, valueType: json, {one}}}
  b: {{topic: numbers, keyType: string, valueType: json, {other}}}
pipelines:
  one: {{from: a, to: {{topic: first}}}}
  other: {{from: b, to: {{topic: second}}}}
"""
    )
    assert "test.yaml:4: topic numbers has another timestampExtractor at test.yaml:3" in said
