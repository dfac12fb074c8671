"""Every file generated from the table of services and from values.yaml is up to date."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from charts.reference import CHARTS, Undescribed, main, values_of
from charts.umbrella import BROKER, CONSOLE, ENGINE, LIBRARY, PRODUCER, SERVICE, UMBRELLA, parts, umbrella_values
from forebay.catalog import all_services
from forebay.producing.sources import all_sources

SERVICES = all_services()


def test_no_generated_file_is_out_of_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, f"run `make charts`: {capsys.readouterr().out}"


def test_the_umbrella_has_an_alias_for_each_service_and_each_topic() -> None:
    meta = yaml.safe_load((CHARTS / UMBRELLA / "Chart.yaml").read_text())
    aliases = {column["alias"]: column["name"] for column in meta["dependencies"] if "alias" in column}
    assert aliases == {
        "broker": BROKER,
        "console": CONSOLE,
        "engine": ENGINE,
        **{part.name: part.chart for part in parts()},
    }
    assert all(item.get("condition", "") == f"{item['alias']}.enabled" for item in meta["dependencies"][1:])


def test_the_umbrella_gives_each_part_the_values_of_the_table_of_services() -> None:
    values = yaml.safe_load((CHARTS / UMBRELLA / "values.yaml").read_text())
    for name, service in SERVICES.items():
        assert values[name]["inputs"] == [topic.name for topic in service.inputs]
        assert values[name]["output"] == service.output.name
    assert {values[part.name]["topic"] for part in parts() if part.chart == PRODUCER} == set(all_sources())


def test_hand_written_parts_of_the_umbrella_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("mine: 1\n")
    file.write_text(umbrella_values(file))
    assert umbrella_values(file) == file.read_text()
    assert yaml.safe_load(file.read_text())["mine"] == 1


def test_there_is_no_copy_and_no_link_of_a_chart() -> None:
    assert {meta.parent.name for meta in CHARTS.glob("*/Chart.yaml")} == {
        UMBRELLA,
        LIBRARY,
        SERVICE,
        PRODUCER,
        BROKER,
        CONSOLE,
        ENGINE,
    }
    assert [file for file in CHARTS.rglob("*") if file.is_symlink()] == []


def test_common_values_of_services_and_producers_are_equal() -> None:
    service, producer = (
        {value.name: (value.default, value.text) for value in values_of(CHARTS / chart / "values.yaml")}
        for chart in (SERVICE, PRODUCER)
    )
    own = {"nodeSelector", "tolerations", "affinity", "priorityClassName"}
    common = (service.keys() & producer.keys()) - own
    assert len(common) > 20
    assert [name for name in sorted(common) if service[name] != producer[name]] == []


def test_a_value_without_description_is_named(tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("a:\n  # What b is.\n  b: 1\n  c: 2\n")
    with pytest.raises(Undescribed, match=r"a\.c has no description"):
        list(values_of(file))


def test_the_values_for_one_service_leave_every_other_out() -> None:
    off = yaml.safe_load((CHARTS / "forebay" / "one-service.yaml").read_text())
    assert set(off) == {part.name for part in parts()} - {"user-sessions", "user-activity"}
    assert all(values == {"enabled": False} for values in off.values())
