"""The service of views in docs/views.md works in a separate package, with contracts that the command writes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from forebay.cli.main import run
from forebay.testing import TestDriver
from tests.plain import plain

PAGE = (Path(__file__).parents[2] / "docs" / "views.md").read_text()
PACKAGE = "my_package"
FILES = {
    "__init__.py": "",
    "settings.py": "from dataclasses import dataclass\n\n\n@dataclass(frozen=True)\nclass Settings:\n    pass\n",
    "model.py": (
        "from dataclasses import dataclass\n\n\n@dataclass(frozen=True, slots=True)\nclass Reading:\n"
        "    sensor: str\n    area: str | None\n    reading: float | None\n    timestamp: int\n"
    ),
    "avro/Reading.avsc": (
        '{"type": "record", "name": "Reading", "namespace": "mine", "fields": [{"name": "sensor", "type": "string"}, '
        '{"name": "area", "type": ["null", "string"]}, {"name": "reading", "type": ["null", "double"]}, '
        '{"name": "timestamp", "type": "long"}]}'
    ),
    "job.py": re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0],
    "views/part_avg.sql": re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)[0],
    "service.py": (
        "from forebay.catalog import Service, Topic\n\n"
        'SERVICE = Service("my-views", "mine", (Topic("readings", "Reading"),), (Topic("part_avg", "PartAvg"),),\n'
        '                  {"part-avg": "PartAvgTotals"}, "my_package.job", stages=2)\n'
    ),
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / PACKAGE
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("FOREBAY_SERVICES", f"{PACKAGE}.service")
    yield folder
    for module in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[module]


def test_contracts_are_written_and_the_views_run(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["views", "my-views"]) == 1
    shown = capsys.readouterr().out
    assert "PartAvg.avsc: out of date" in shown
    assert "`forebay views my-views --write` writes the contracts that are out of date" in shown
    assert run(["views", "my-views", "--write"]) == 0
    assert "PartAvg.avsc: written" in capsys.readouterr().out
    assert run(["views", "my-views"]) == 0
    assert {file.name for file in (package / "avro").iterdir()} == {
        *("Reading.avsc", "ReadingByArea.avsc", "PartAvg.avsc", "PartAvgTotals.avsc"),
    }

    job, model = TestDriver("my-views", tasks=2), sys.modules["my_package.model"]
    for number, (sensor, area, value) in enumerate(
        [("a", "x", 1.0), ("b", "x", 2.0), ("b", None, 9.0), ("c", "y", None)]
    ):
        job.pipe(sensor, model.Reading(sensor, area, value, 1 + number))
    assert [plain(out.value) for out in job.outputs] == [
        {"area": "x", "avg_reading": 1.0},
        {"area": "x", "avg_reading": 1.5},
        {"area": "y", "avg_reading": None},
    ]


def test_the_plan_of_each_view_is_shown(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["views", "my-views", "--write", "--plan"]) == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        "CTAS_part_avg_0: table part_avg -> topic part_avg",
        "  columns area STRING KEY, avg_reading DOUBLE",
        "  select AVG(readings.reading) as avg_reading",
    ]


def test_an_entry_that_differs_is_reported(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    service = package / "service.py"
    service.write_text(service.read_text().replace("part-avg", "averages").replace("stages=2", "stages=1"))
    assert run(["views", "my-views", "--write"]) == 1
    shown = capsys.readouterr().out
    assert "stores are {'averages': 'PartAvgTotals'} in the entry, {'part-avg': 'PartAvgTotals'} in the job" in shown
    assert "the entry says stages=1, the job has 2" in shown


def test_a_view_that_can_t_be_used_is_named_in_one_line(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    view = package / "views" / "part_avg.sql"
    view.write_text(view.read_text().replace("AVG(reading)", "AVG(area)"))
    assert run(["views", "my-views"]) == 1
    assert capsys.readouterr().err.strip() == ("error: part_avg.sql: AVG(area): area is a text: AVG takes a number")


def test_a_service_without_views_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["views", "ticket-sales"]) == 2
    assert "ticket-sales is not a service of SQL views" in capsys.readouterr().err
