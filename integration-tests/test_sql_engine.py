"""A SQL engine on a real broker accepts and stores statements while it runs, and runs them again after a kill."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from click.testing import CliRunner
from confluent_kafka import Consumer, TopicPartition
from job_process import JobProcess
from own_topics import settings_of
from topic_reading import read_topic

from forebay.cli.status import status
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.topics import TopicSpec
from forebay.platform import Platform
from forebay.runtime.changelog.topics import internal_topic

DECLARED = (
    "CREATE STREAM readings (sensor VARCHAR KEY, reading DOUBLE) "
    "WITH (KAFKA_TOPIC='live_readings', PARTITIONS=2, VALUE_FORMAT='JSON');"
)
COMPUTED = "CREATE TABLE live_avg AS SELECT sensor, AVG(reading) AS avg FROM readings GROUP BY sensor;"
COUNTED = "CREATE TABLE live_counts AS SELECT sensor, COUNT(*) AS n FROM readings GROUP BY sensor;"
OTHER = (
    "CREATE STREAM doors (door VARCHAR KEY, state VARCHAR) "
    "WITH (KAFKA_TOPIC='live_doors_in', PARTITIONS=2, VALUE_FORMAT='JSON');"
    "CREATE TABLE live_doors AS SELECT door, COUNT(*) AS n FROM doors GROUP BY door;"
)
PLACES = (
    "CREATE TABLE places (place VARCHAR PRIMARY KEY, town VARCHAR) "
    "WITH (KAFKA_TOPIC='live_places_in', PARTITIONS=2, VALUE_FORMAT='JSON');"
    "CREATE TABLE live_places AS SELECT place, town FROM places;"
)
TOWNS = "CREATE TABLE live_towns AS SELECT town, COUNT(*) AS n FROM places GROUP BY town;"
SECONDS = 150.0


class Client:
    """HTTP client of an engine."""

    def __init__(self, process: JobProcess, token: str) -> None:
        self.process = process
        self._token = token
        process.until(lambda: "statements are accepted" in process.text(), "it takes statements")
        message = next(m for m in process.messages() if "statements are accepted" in m)
        self._url = message.split(" at ")[1]

    def lines(self, sql: str, token: str | None = None) -> list[dict[str, Any]]:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token or self._token}"}
        with urlopen(Request(self._url, json.dumps({"sql": sql}).encode(), headers), timeout=90) as response:
            return [json.loads(line) for line in response if line.strip()]

    def rows(self, sql: str) -> list[dict[str, Any]]:
        return [line["row"] for line in self.lines(sql) if "row" in line]

    def refusal(self, sql: str, token: str | None = None) -> tuple[int, str]:
        with pytest.raises(HTTPError) as refused:
            self.lines(sql, token)
        return refused.value.code, str(json.loads(refused.value.read())["error"])

    def until(self, sql: str, wanted: list[dict[str, Any]]) -> None:
        """Repeat the query until it returns the wanted rows. While stores are being read, its status is 503."""
        answer: list[dict[str, Any]] = [{}]
        deadline, reason = time.monotonic() + SECONDS, ""
        while answer != wanted:
            assert time.monotonic() < deadline, f"{sql} gives {answer} {reason}, not {wanted}\n{self.process.text()}"
            try:
                answer = self.rows(sql)
            except HTTPError as error:
                reason = error.read().decode()
                if error.code != 503:
                    pytest.fail(f"{sql}: {reason}")
            time.sleep(0.05)

    def names(self) -> list[str]:
        return [row["writes"] for row in self.rows("SHOW QUERIES;")]


@pytest.fixture
def tokens(tmp_path: Path) -> tuple[str, str]:
    """Write the files of the tokens for reading and for changing. Return both tokens."""
    reads, changes = "reads-" + "r" * 16, "changes-" + "c" * 16
    (tmp_path / "reads").write_text(reads)
    (tmp_path / "changes").write_text(changes)
    return reads, changes


@contextmanager
def engine(platform: Platform, folder: Path, name: str, log: str) -> Iterator[JobProcess]:
    endpoints = platform.up()
    arguments = ["--live", name, "--http-port", "0", "--home", str(folder / "home")]
    arguments += ["--bootstrap-servers", endpoints.bootstrap_servers, "--schema-registry-url", endpoints.registry_url]
    arguments += ["--token-file", str(folder / "reads"), "--change-token-file", str(folder / "changes")]
    process = JobProcess(arguments, folder / log, {"FOREBAY_HOME": str(folder / "home")}, "sql")
    try:
        yield process
    finally:
        process.kill()


def pause_one(client: Client) -> None:
    """Pause a query. Check that it reads no records meanwhile, and that the other queries continue."""
    client.rows("INSERT INTO doors VALUES ('d', 'open');")
    client.until("SELECT n FROM live_doors WHERE door = 'd';", [{"N": 1}])
    code, reason = client.refusal("PAUSE CTAS_LIVE_COUNTS_2;")
    assert (code, "both use the topic live_readings" in reason) == (400, True)

    assert client.rows("PAUSE CTAS_LIVE_DOORS_1;")[0]["result"] == "paused"
    client.rows("INSERT INTO doors VALUES ('d', 'shut'); INSERT INTO readings VALUES ('s-2', 8.0);")
    client.until("SELECT n FROM live_counts WHERE sensor = 's-2';", [{"N": 2}])
    states = {row["writes"]: row["state"] for row in client.rows("SHOW QUERIES;")}
    assert states["LIVE_DOORS"] == "paused" != states["LIVE_COUNTS"]
    client.until("SELECT n FROM live_doors WHERE door = 'd';", [{"N": 1}])


def add_queries_of_a_table(client: Client, platform: Platform, job_log: Path) -> None:
    """Create queries of a table that has rows. Check that their results contain them."""
    client.rows(PLACES)
    client.rows("".join(f"INSERT INTO places VALUES ('p{number}', 'Ulm');" for number in range(20)))
    client.until("SELECT town FROM live_places WHERE place = 'p19';", [{"TOWN": "Ulm"}])
    client.rows(TOWNS)
    client.until("SELECT n FROM live_towns WHERE town = 'Ulm';", [{"N": 20}])
    client.rows("INSERT INTO places VALUES ('p7', 'Bonn');")
    client.until("SELECT n FROM live_towns WHERE town = 'Bonn';", [{"N": 1}])
    client.until("SELECT n FROM live_towns WHERE town = 'Ulm';", [{"N": 19}])
    # The topic of a query without an aggregate gets the rows, too.
    client.rows("CREATE TABLE live_ulm AS SELECT * FROM places WHERE town = 'Ulm';")
    wanted = sorted(f"p{number}".encode() for number in range(20) if number != 7)
    client.process.until(lambda: _keys(platform, "LIVE_ULM") == wanted, "the topic has the rows")
    # A table that is created again begins with new stores.
    client.rows("DROP TABLE live_towns; DROP TABLE live_ulm;")
    client.rows("INSERT INTO places VALUES ('p8', 'Bonn');" + TOWNS)
    client.until("SELECT n FROM live_towns WHERE town = 'Bonn';", [{"N": 2}])
    client.until("SELECT n FROM live_towns WHERE town = 'Ulm';", [{"N": 18}])
    # Each task that had rows of the dropped stores deletes them.
    deleted = "deleted the rows of the stores live-towns"
    client.process.until(lambda: deleted in job_log.read_text(), "rows of dropped queries are deleted")
    client.rows("DROP TABLE live_towns; DROP TABLE live_places;")


@pytest.mark.timeout(600)
def test_engine_accepts_persists_and_drops_statements(
    platform: Platform, tmp_path: Path, tokens: tuple[str, str]
) -> None:
    reads, changes = tokens
    with engine(platform, tmp_path, "live-shop", "first.log") as process:
        client = Client(process, changes)
        code, reason = client.refusal(DECLARED, reads)
        assert (code, "token" in reason) == (401, True)
        assert [row["result"] for row in client.rows(DECLARED + COMPUTED)] == ["created", "created"]
        assert client.refusal("INSERT INTO readings VALUES ('s-1', 45.0);", reads)[0] == 401
        client.rows("INSERT INTO readings VALUES ('s-1', 45.0); INSERT INTO readings VALUES ('s-1', 92.0);")
        client.until("SELECT * FROM live_avg WHERE sensor = 's-1';", [{"SENSOR": "s-1", "AVG": 68.5}])
        assert client.lines("SHOW STREAMS;", reads)[1]["row"]["name"] == "READINGS"

        no_lag = {"property": "lag", "value": "live_readings: 0 records"}
        process.until(lambda: no_lag in client.rows("DESCRIBE live_avg EXTENDED;"), "everything is read")
        printed = client.rows("PRINT 'live_readings' FROM BEGINNING INTERVAL 2 LIMIT 1;")
        assert [(row["key"], json.loads(row["value"])) for row in printed] == [("s-1", {"READING": 45.0})]

        # A request with one invalid statement changes nothing.
        code, reason = client.refusal(COUNTED + "CREATE TABLE bad AS SELECT nothing FROM readings GROUP BY sensor;")
        assert (code, "there is no column NOTHING" in reason) == (400, True)
        other = COMPUTED.replace("CREATE", "CREATE OR REPLACE").replace("AS avg", "AS avg, COUNT(*) AS n")
        code, reason = client.refusal(other)
        assert (code, "Give the result another name" in reason) == (400, True)
        assert client.names() == ["LIVE_AVG"]

        client.rows(OTHER + COUNTED + "INSERT INTO readings VALUES ('s-2', 7.0);")
        process.kill()

    # The engine was killed while its job restarted. The statement was accepted before, so it is in effect.
    with engine(platform, tmp_path, "live-shop", "second.log") as process:
        client = Client(process, changes)
        assert client.names() == ["LIVE_AVG", "LIVE_DOORS", "LIVE_COUNTS"]
        client.rows("INSERT INTO readings VALUES ('s-1', 1.0);")
        client.until("SELECT avg FROM live_avg WHERE sensor = 's-1';", [{"AVG": 46.0}])
        client.until("SELECT n FROM live_counts WHERE sensor = 's-1';", [{"N": 1}])
        # The query also processes the record that was inserted by the last request before the kill.
        client.until("SELECT n FROM live_counts WHERE sensor = 's-2';", [{"N": 1}])
        pause_one(client)
        add_queries_of_a_table(client, platform, tmp_path / "home/live/live-shop/job.log")
        assert client.rows("PAUSE ALL;") == [{"statement": "PAUSE ALL", "result": "paused"}]
        assert {row["state"] for row in client.rows("SHOW QUERIES;")} == {"paused"}
        client.rows("INSERT INTO readings VALUES ('s-1', 2.0);")
        client.rows("RESUME ALL;")
        client.until("SELECT n FROM live_counts WHERE sensor = 's-1';", [{"N": 2}])
        client.until("SELECT n FROM live_doors WHERE door = 'd';", [{"N": 2}])
        process.until(lambda: _status(platform, tmp_path, "live-shop")["state"] == "running", "the job resumed")
        process.until(lambda: _status(platform, tmp_path, "live-shop")["lag"] == 0, "its tasks report their lag")
        client.rows("TERMINATE CTAS_LIVE_AVG_0; DROP TABLE live_counts; DROP TABLE live_doors;")
        assert client.names() == []
        assert client.refusal("SELECT * FROM live_counts;")[0] == 400
        assert process.terminate() == 0
    job = _status(platform, tmp_path, "live-shop")
    assert (job["state"], job["exit_code"], job["lag"]) == ("ended", 0, 0)
    assert [event["what"] for event in job["events"][:2]] == ["ended", "started"]
    assert _status(platform, tmp_path, "live-never")["state"] == "never"
    assert _records(platform, "live-shop-statements") > 0


def _status(platform: Platform, folder: Path, name: str) -> dict[str, Any]:
    endpoints = platform.endpoints
    brokers = ["--bootstrap-servers", endpoints.bootstrap_servers, "--schema-registry-url", endpoints.registry_url]
    result = CliRunner().invoke(status, [name, "--json", "--home", str(folder / "home"), *brokers])
    assert result.exit_code == 0, result.output
    job: dict[str, Any] = json.loads(result.output)["jobs"][0]
    return job


def _keys(platform: Platform, topic: str) -> list[bytes]:
    messages = read_topic(settings_of(platform.up()), topic)
    return sorted(message.key() or b"" for records in messages.values() for message in records)


def _records(platform: Platform, topic: str) -> int:
    consumer = Consumer(settings_of(platform.up()).consumer())
    try:
        return int(consumer.get_watermark_offsets(TopicPartition(topic, 0), 10)[1])
    finally:
        consumer.close()


@pytest.mark.timeout(200)
def test_a_later_engine_takes_over(platform: Platform, tmp_path: Path, tokens: tuple[str, str]) -> None:
    with engine(platform, tmp_path, "live-two", "first.log") as first:
        client = Client(first, tokens[1])
        client.rows(DECLARED.replace("live_readings", "live_two_readings"))
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        for name, token in zip(("reads", "changes"), tokens, strict=True):
            (elsewhere / name).write_text(token)
        with engine(platform, elsewhere, "live-two", "second.log") as second:
            later = Client(second, tokens[1])
            assert [row["name"] for row in later.rows("SHOW STREAMS;")] == ["READINGS"]
            assert first.finish() == 1
            assert "another engine of live-two was started later" in first.text()


@pytest.mark.timeout(200)
def test_a_job_of_files_is_not_changed(platform: Platform, tmp_path: Path, tokens: tuple[str, str]) -> None:

    assert tokens
    TopicAdmin(settings_of(platform.up())).create([TopicSpec(internal_topic("live-filed", 0), 1)])
    with engine(platform, tmp_path, "live-filed", "engine.log") as process:
        assert process.finish() == 1
        assert "live-filed is a job of files: statements can't change it" in process.text()
