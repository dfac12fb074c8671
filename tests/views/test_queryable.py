"""Views can be queried in SQL for their rows by group, with conditions, and for their changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from forebay.http.messages import Request
from forebay.job import plans_of
from forebay.queries.entries import Entry
from forebay.queries.sql_pages import SqlPages
from forebay.queries.stores import Found
from forebay.stores.keys import join_key
from forebay.testing import TestDriver
from forebay.views import load_views, views_job
from forebay.views.queryable import queryable_views
from tests.views.sources import READINGS, new_record
from tests.views.test_running import Settings

VIEWS = {
    "by_area": "SELECT area, COUNT(*) AS n, AVG(reading) AS mean FROM readings GROUP BY area",
    "both": "SELECT COUNT(*) AS n, sensor, area AS place FROM readings GROUP BY area, sensor",
}


class DrivenStores:
    """The stores of a job on the test driver, with the interface of a query server's stores."""

    def __init__(self, driver: TestDriver) -> None:
        self._driver = driver

    def wait_for(self, store: str, wanted: Any, seconds: float) -> None:
        return

    def ages(self, store: str) -> dict[str, int]:
        return {}

    def scan(self, store: str, bounds: Any, limit: int) -> Found:
        results = [
            Entry(key, record.value, timestamp=record.timestamp) for key, record in self._driver.store(store).items()
        ]
        return Found(results[:limit], {0: 1}, len(results) > limit)

    def get(self, store: str, key: str, bounds: Any, limit: int) -> Found:
        return Found([entry for entry in self.scan(store, bounds, limit).entries if entry.key == key], {0: 1})


@pytest.fixture
def pages(tmp_path: Path) -> SqlPages:
    for name, select in VIEWS.items():
        (tmp_path / f"{name}.sql").write_text(f"CREATE MATERIALIZED VIEW {name} AS {select}")
    job = views_job(Settings, READINGS, load_views(tmp_path, READINGS))
    driver = TestDriver(job)
    for number, (sensor, area) in enumerate((("s1", "hall"), ("s2", "hall"), ("s1", "yard"), ("s1", "hall"))):
        driver.pipe(sensor, new_record(sensor=sensor, area=area, reading=10.0 * number, timestamp=number))
    return SqlPages(queryable_views(plans_of(job)), lambda: DrivenStores(driver), lambda *_: iter(()))  # type: ignore[arg-type, return-value]


def lines(pages: SqlPages, sql: str) -> tuple[int, list[Any]]:
    answer = pages.answer(Request(("sql",), method="POST", body=sql.encode()))
    content = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
    return answer.status, [json.loads(line) for line in content.splitlines() if line]


def rows(pages: SqlPages, sql: str) -> list[dict[str, Any]]:
    status, body = lines(pages, sql)
    assert status == 200, body
    return [line["row"] for line in body if "row" in line]


def test_a_row_by_its_group(pages: SqlPages) -> None:
    assert rows(pages, "SELECT * FROM by_area WHERE area = 'hall'") == [{"area": "hall", "n": 3, "mean": 40.0 / 3}]


def test_all_rows_with_a_condition_and_a_calculation(pages: SqlPages) -> None:
    assert rows(pages, "SELECT area, n * 2 AS twice FROM by_area WHERE n < 2") == [{"area": "yard", "twice": 2}]


def test_a_row_by_several_groups(pages: SqlPages) -> None:
    assert rows(pages, "SELECT place, sensor, n FROM both WHERE place = 'hall' AND sensor = 's1'") == [
        {"place": "hall", "sensor": "s1", "n": 2}
    ]
    assert len(rows(pages, "SELECT * FROM both")) == 3


def test_show_and_explain_list_sources_and_plans(pages: SqlPages) -> None:
    assert {row["name"] for row in rows(pages, "SHOW TABLES")} == {"by_area", "both"}
    assert [row["name"] for row in rows(pages, "SHOW STREAMS")] == ["readings"]
    assert any("area" in row["plan"] for row in rows(pages, "EXPLAIN by_area"))


def test_an_unknown_name_is_reported(pages: SqlPages) -> None:
    assert lines(pages, "SELECT nothing FROM by_area") == (
        400,
        [{"error": "line 1, column 8: there is no column nothing: write one of area, n, mean"}],
    )
    status, (error,) = lines(pages, "SELECT * FROM readings")
    assert status == 400
    assert "follow it with EMIT CHANGES" in error["error"]


def test_keys_of_topics_are_read_as_groups(pages: SqlPages) -> None:
    asked = pages._queryable
    catalog = asked.program().catalog
    one, several = (
        asked.codecs(next(member for member in catalog if member.name == name))[0] for name in ("by_area", "both")
    )
    assert one.decode(b"hall") == ("hall",)
    assert several.decode(join_key("hall", "s1").encode()) == ("hall", "s1")
    assert several.encode(("hall", "s1")) == join_key("hall", "s1").encode()
