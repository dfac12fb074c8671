"""A file of ksqlDB's SQL runs as a job on a real broker, and is queried by pull and push queries."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from confluent_kafka import Producer
from job_process import JobProcess
from own_topics import settings_of

from forebay.kafka.admin import TopicAdmin
from forebay.kafka.registry import SchemaRegistry
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import TopicSpec
from forebay.platform import Platform
from forebay.serde.framing import header
from forebay.serde.schema import Schema
from forebay.serde.varint import integer_bytes

STATEMENTS = """
ASSERT TOPIC sql_readings WITH (PARTITIONS=2) TIMEOUT 10 SECONDS;
ASSERT NOT EXISTS TOPIC sql_no_such_topic;
CREATE STREAM readings (sensor VARCHAR KEY, area VARCHAR, reading DOUBLE)
  WITH (KAFKA_TOPIC='sql_readings', PARTITIONS=2, VALUE_FORMAT='JSON');
CREATE STREAM movie_ticket_sales (title VARCHAR, sale_ts VARCHAR, ticket_total_value INT)
  WITH (KAFKA_TOPIC='sql_movie_ticket_sales', PARTITIONS=2, VALUE_FORMAT='JSON');
CREATE TABLE avg_readings AS SELECT sensor, AVG(reading) AS avg FROM readings GROUP BY sensor EMIT CHANGES;
CREATE TABLE products AS SELECT sensor, PRODUCT(reading) AS product, LATEST_BY_OFFSET(SHOUT(area)) AS area FROM readings
  GROUP BY sensor;
CREATE TABLE part_avg AS SELECT area, AVG(reading) AS avg FROM readings GROUP BY area EMIT CHANGES;
CREATE TABLE movie_tickets_sold AS SELECT title, COUNT(*) AS tickets_sold FROM movie_ticket_sales
  GROUP BY title EMIT CHANGES;
CREATE STREAM clicks WITH (KAFKA_TOPIC='sql_clicks', PARTITIONS=2, FORMAT='AVRO');
CREATE TABLE clicks_per_page WITH (KAFKA_TOPIC='sql_clicks_per_page', FORMAT='PROTOBUF') AS
  SELECT page, COUNT(*) AS clicks FROM clicks GROUP BY page;
CREATE TABLE clicks_per_user WITH (KAFKA_TOPIC='sql_clicks_per_user', VALUE_FORMAT='JSON_SR') AS
  SELECT rowkey AS user_id, COUNT(*) AS clicks FROM clicks GROUP BY rowkey;
CREATE TABLE prices (title VARCHAR PRIMARY KEY, price INT) WITH (KAFKA_TOPIC='sql_prices', VALUE_FORMAT='JSON');
INSERT INTO prices (title, price, ROWTIME) VALUES ('Die Hard', 9, 1);
CREATE TABLE sold (title VARCHAR PRIMARY KEY, tickets_sold BIGINT)
  WITH (KAFKA_TOPIC='MOVIE_TICKETS_SOLD', VALUE_FORMAT='JSON');
CREATE TABLE priced AS SELECT sold.title, tickets_sold, price FROM sold LEFT JOIN prices ON sold.title = prices.title;
"""
FUNCTIONS = """
from forebay.sql.extension import aggregate_function, scalar_function


@scalar_function
def shout(text: str) -> str:
    return text.upper() + "!"


@aggregate_function
class Product:
    def initialize(self) -> float:
        return 1.0

    def aggregate(self, state: float, value: float) -> float:
        return state * value

    def merge(self, one: float, other: float) -> float:
        return one * other
"""
CLICK = {"type": "record", "name": "Click", "fields": [{"name": "page", "type": "string"}]}
CLICKS = [(1, "home"), (2, "home"), (1, "cart")]
READINGS = [("sensor-1", "hall", 45.0), ("sensor-2", "hall", 41.0), ("sensor-1", "hall", 92.0)]
SALES = ["Aliens", "Die Hard", "Die Hard", "The Godfather", "Die Hard"]


def ask(url: str, sql: str, **more: Any) -> Iterator[dict[str, Any]]:
    body = json.dumps({"sql": sql, **more}).encode()
    with urlopen(Request(f"{url}/sql", body, {"Content-Type": "application/json"}), timeout=60) as response:
        for line in response:
            if line.strip():
                yield json.loads(line)


def rows(url: str, sql: str, **more: Any) -> list[dict[str, Any]]:
    return [line["row"] for line in ask(url, sql, **more) if "row" in line]


def wait_for_rows(url: str, sql: str, wanted: list[dict[str, Any]], seconds: float) -> None:
    """Repeat the query until it returns the expected rows."""
    deadline = time.monotonic() + seconds
    while (result := rows(url, sql)) != wanted:
        assert time.monotonic() < deadline, f"{sql} gives {result}, not {wanted}"
        time.sleep(0.05)


def write(folder: Path) -> list[str]:
    """Write the files of statements and functions, and return the options that name them."""
    file, functions = folder / "first-bar.sql", folder / "functions.py"
    file.write_text(STATEMENTS)
    functions.write_text(FUNCTIONS)
    return ["-f", str(file), "--functions", str(functions)]


def send(settings: KafkaSettings, key: int, click: int) -> None:
    """Send the statements' input. `key` and `click` are the schema ids of the topic of clicks."""
    producer = Producer(settings.producer())
    for number, (sensor, area, reading) in enumerate(READINGS):
        value = json.dumps({"AREA": area, "READING": reading})
        producer.produce("sql_readings", value, sensor, timestamp=1_000 + number)
    for number, title in enumerate(SALES):
        value = json.dumps({"TITLE": title, "SALE_TS": "2019-07-18T10:00:00Z", "TICKET_TOTAL_VALUE": 12})
        producer.produce("sql_movie_ticket_sales", value, timestamp=2_000 + number)
    for number, (user, page) in enumerate(CLICKS):
        producer.produce(
            "sql_clicks",
            header(click) + integer_bytes(len(page)) + page.encode(),
            header(key) + integer_bytes(user),
            timestamp=3_000 + number,
        )
    assert producer.flush(30) == 0


def check_pushes(url: str) -> None:
    """Run a push query of a table, and push queries that need their own topology."""
    changes = "SELECT * FROM clicks_per_page WHERE page = 'cart' EMIT CHANGES LIMIT 1;"
    assert rows(url, changes, from_beginning=True) == [{"PAGE": "cart", "CLICKS": 1}]
    grouped = "SELECT area, COUNT(*) AS c FROM readings GROUP BY area EMIT CHANGES LIMIT 3;"
    assert rows(url, grouped, from_beginning=True) == [{"AREA": "hall", "C": number} for number in (1, 2, 3)]
    joined = (
        "SELECT sold.title AS title, tickets_sold, price FROM sold JOIN prices ON sold.title = prices.title "
        "WHERE tickets_sold = 3 AND price = 11 EMIT CHANGES LIMIT 1;"
    )
    assert rows(url, joined, from_beginning=True) == [{"TITLE": "Die Hard", "TICKETS_SOLD": 3, "PRICE": 11}]


@pytest.mark.timeout(400)
def test_a_file_runs_as_a_job_and_is_queried(platform: Platform, tmp_path: Path) -> None:
    endpoints = platform.up()
    settings = settings_of(endpoints)
    # This topic has the broker's defaults, unlike topics that Forebay creates.
    TopicAdmin(settings).create([TopicSpec("sql_readings", 2)])
    registry = SchemaRegistry(settings.registry())
    key, click = (
        registry.register(f"sql_clicks-{part}", Schema(json.dumps(schema))).schema_id
        for part, schema in (("key", {"type": "long"}), ("value", CLICK))
    )
    broker = ["--bootstrap-servers", endpoints.bootstrap_servers, "--schema-registry-url", endpoints.registry_url]
    files, environment = write(tmp_path), {"FOREBAY_HOME": str(tmp_path)}
    job = JobProcess([*files, "--run", *broker], tmp_path / "job.log", environment, "sql")
    processes = [job]
    try:
        job.until(lambda: bool(job.messages()), "its topics are there")
        arguments = [*files, "--serve", *broker, "--http-port", "0", "--every-ms", "20"]
        server = JobProcess(arguments, tmp_path / "server.log", environment, "sql")
        processes.append(server)
        server.until(lambda: server.http("/readyz")[0] == 200 if "http://" in server.text() else False, "it is ready")
        url = "http://" + next(m for m in server.messages() if "http://" in m).split("http://")[1].split()[0]
        pushed: list[dict[str, Any]] = []

        def follow() -> None:
            sql = "SELECT * FROM avg_readings WHERE sensor = 'sensor-1' EMIT CHANGES LIMIT 2;"
            pushed.extend(rows(url, sql, from_beginning=True))

        follower = threading.Thread(target=follow, daemon=True)
        follower.start()
        send(settings, key, click)

        one = "SELECT * FROM avg_readings WHERE sensor = 'sensor-1';"
        wait_for_rows(url, one, [{"SENSOR": "sensor-1", "AVG": 68.5}], 150)
        sold = "SELECT title, tickets_sold FROM movie_tickets_sold WHERE tickets_sold > 1;"
        wait_for_rows(url, sold, [{"TITLE": "Die Hard", "TICKETS_SOLD": 3}], 60)
        read_back = "SELECT tickets_sold, price FROM priced WHERE sold_title = 'Die Hard';"
        wait_for_rows(url, read_back, [{"TICKETS_SOLD": 3, "PRICE": 9}], 60)
        own = [{"PRODUCT": 4_140.0, "AREA": "HALL!!"}]
        wait_for_rows(url, "SELECT product, SHOUT(area) AS area FROM products WHERE sensor = 'sensor-1';", own, 60)
        inserted = rows(url, "INSERT INTO prices (title, price) VALUES ('Die Hard', 11);")
        assert inserted == [{"topic": "sql_prices", "records": 1}]
        wait_for_rows(url, read_back, [{"TICKETS_SOLD": 3, "PRICE": 11}], 60)
        wait_for_rows(url, "SELECT avg FROM part_avg WHERE area = 'hall';", [{"AVG": 178.0 / 3}], 60)
        wait_for_rows(url, "SELECT * FROM clicks_per_page WHERE page = 'home';", [{"PAGE": "home", "CLICKS": 2}], 60)
        wait_for_rows(url, "SELECT * FROM clicks_per_user WHERE user_id = 1;", [{"USER_ID": 1, "CLICKS": 2}], 60)
        wait_for_rows(url, "SELECT reading FROM readings WHERE sensor = 'sensor-2';", [{"READING": 41.0}], 60)
        check_pushes(url)
        assert "string PAGE = 1" in str(registry.newest("sql_clicks_per_page-key"))
        follower.join(30)
        assert pushed == [{"SENSOR": "sensor-1", "AVG": 45.0}, {"SENSOR": "sensor-1", "AVG": 68.5}]
        with pytest.raises(HTTPError) as refused:
            rows(url, "SELECT nothing FROM avg_readings;")
        assert refused.value.code == 400
        assert "line 1, column 8: there is no column NOTHING" in json.loads(refused.value.read())["error"]
    finally:
        for process in processes:
            process.kill()
