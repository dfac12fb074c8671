"""The service has the views on its page, and produces the results of the example there."""

import json
import re
from pathlib import Path

import pytest

from forebay.testing import TestDriver
from sensor_views.model import Reading
from tests.plain import plain

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "services" / "sensor-views.md").read_text()


def test_example() -> None:
    readings, rows, stored_totals = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))
    driver = TestDriver("sensor-views", tasks=2)
    for reading in readings:
        driver.pipe(reading["sensor"], Reading(**reading))
    assert [plain(output.value) for output in driver.outputs] == rows
    assert [output.topic for output in driver.outputs] == ["avg_readings", "part_avg"] * 3
    assert plain(driver.store("part-avg")["wheel"].value) == stored_totals


@pytest.mark.parametrize(("file", "sql"), re.findall(r"`(services/\S+\.sql)`\n```sql\n(.*?)```", PAGE, re.DOTALL))
def test_documented_views_equal_the_files(file: str, sql: str) -> None:
    assert (ROOT / file).read_text() == sql


def test_the_page_shows_every_view() -> None:
    shown = set(re.findall(r"`(services/\S+\.sql)`\n", PAGE))
    assert shown == {str(file.relative_to(ROOT)) for file in (ROOT / "services/sensor_views/views").glob("*.sql")}
