"""Every job that is written in SQL (a file, a package around a file, or views) can be queried in SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forebay.catalog import all_services
from forebay.job import load_job, speaks_sql
from forebay.queries.sql_pages import SqlPages
from forebay.sql.packaged import sql_service
from forebay.sql.queryable import queryable
from tests.sql.test_queries import rows

STATEMENTS = """
CREATE STREAM events (user_id VARCHAR KEY, amount DOUBLE) WITH (KAFKA_TOPIC='events', VALUE_FORMAT='JSON');
CREATE TABLE totals AS SELECT user_id, SUM(amount) AS amount FROM events GROUP BY user_id;
"""


def test_packaged_statements_are_queried_like_a_file(tmp_path: Path) -> None:
    file = tmp_path / "statements.sql"
    file.write_text(STATEMENTS)
    service, job = sql_service("sums", file, "a.module.of.its.own")
    assert service.name == "sums"
    assert job.program is not None
    nothing: Any = list
    pages = SqlPages(queryable(job.program), nothing, nothing)
    assert [row["name"] for row in rows(pages, "SHOW TABLES;")] == ["TOTALS"]
    assert rows(pages, "EXPLAIN totals;")


@pytest.mark.parametrize("service", all_services().values(), ids=lambda service: service.name)
def test_only_view_services_accept_sql(service: Any) -> None:
    assert speaks_sql(load_job(service.job)) is (service.name in ("sensor-views",))
