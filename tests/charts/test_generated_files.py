"""Everything that is made from the table of services and from values.yaml is up to date."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from charts.reference import CHARTS, Undescribed, generated, main, values_of
from charts.thin import thin_charts


def test_no_generated_file_is_out_of_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, f"run `make charts`: {capsys.readouterr().out}"


def test_every_thin_chart_is_linked_to_the_library_and_the_umbrella() -> None:
    for chart in thin_charts():
        assert (CHARTS / chart.name / "charts" / "forebay-lib").resolve() == CHARTS / "forebay-lib"
        assert (CHARTS / "forebay" / "charts" / chart.name).resolve() == CHARTS / chart.name


def test_the_umbrella_switches_each_part() -> None:
    switches = {
        value.path[0] for value in values_of(CHARTS / "forebay" / "values.yaml") if value.path[1:] == ("enabled",)
    }
    assert switches >= {"broker", *(chart.name for chart in thin_charts())}


def test_there_is_no_chart_that_nothing_makes() -> None:
    made = {file.parent.name for file, _ in generated() if file.name == "Chart.yaml"}
    assert {meta.parent.name for meta in CHARTS.glob("*/Chart.yaml")} == made | {"broker", "forebay-lib"}


def test_a_value_without_description_is_named(tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("a:\n  # What b is.\n  b: 1\n  c: 2\n")
    with pytest.raises(Undescribed, match=r"a\.c has no description"):
        list(values_of(file))


def test_the_values_for_one_service_leave_every_other_out() -> None:
    off = yaml.safe_load((CHARTS / "forebay" / "one-service.yaml").read_text())
    assert set(off) == {chart.name for chart in thin_charts()} - {"user-sessions", "user-activity"}
    assert all(values == {"enabled": False} for values in off.values())
