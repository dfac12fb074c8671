"""A SQL file and a KSML definition over the same topics, each with a join of re-keyed records and an aggregation."""

from __future__ import annotations

import json
import random

Raw = tuple[str, bytes, bytes | None, int]
"""Topic, key, value and timestamp (ms)."""
INPUTS = ("history_clicks", "history_prices")

SQL = """
CREATE TABLE prices (product STRING PRIMARY KEY, price INT)
  WITH (KAFKA_TOPIC='history_prices', VALUE_FORMAT='JSON');
CREATE STREAM clicks (u STRING KEY, product STRING, n INT)
  WITH (KAFKA_TOPIC='history_clicks', VALUE_FORMAT='JSON');
CREATE STREAM priced WITH (KAFKA_TOPIC='history_sql_priced') AS
  SELECT c.product AS product, n, price FROM clicks c JOIN prices p ON c.product = p.product;
CREATE TABLE counts WITH (KAFKA_TOPIC='history_sql_counts') AS
  SELECT u, COUNT(*) AS clicks, SUM(n) AS total FROM clicks GROUP BY u;
CREATE TABLE per_window WITH (KAFKA_TOPIC='history_sql_windows') AS
  SELECT product, SUM(n) AS total FROM clicks WINDOW TUMBLING (SIZE 50 MILLISECONDS) GROUP BY product;
"""
KSML = """
streams:
  clicks: {topic: history_clicks, keyType: string, valueType: json}
  priced: {topic: history_ksml_priced, keyType: string, valueType: json}
  counts: {topic: history_ksml_counts, keyType: string, valueType: long}
tables:
  prices: {topic: history_prices, keyType: string, valueType: json, store: {name: prices, type: keyValue}}
stores:
  seen: {type: keyValue, keyType: string, valueType: long}
functions:
  both: {type: valueJoiner, code: 'return {"click": value1, "price": value2}', resultType: json}
  count_seen:
    type: valueTransformer
    code: |
      number = (seen.get(key) or 0) + 1
      seen.put(key, number)
      return number
    resultType: long
    stores: [seen]
pipelines:
  join:
    from: clicks
    via:
      - {type: selectKey, mapper: {expression: "value['PRODUCT']", resultType: string}}
      - {type: join, table: prices, valueJoiner: both}
    to: priced
  count:
    from: clicks
    via:
      - {type: transformValue, mapper: count_seen}
    to: counts
"""


def drawn(seed: int, count: int = 80) -> list[Raw]:
    """Return random clicks and prices as encoded records. Some prices are deletions."""
    draw, records = random.Random(seed), list[Raw]()
    for at in range(1, count + 1):
        product = draw.choice("pqr")
        if draw.random() < 0.4:
            value = None if draw.random() < 0.2 else json.dumps({"PRICE": at}).encode()
            records.append(("history_prices", product.encode(), value, at))
        else:
            value = json.dumps({"PRODUCT": product, "N": draw.randrange(9)}).encode()
            records.append(("history_clicks", b"u%d" % draw.randrange(4), value, at))
    return records
