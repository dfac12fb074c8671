"""Each problem is reported in one line. Long lines keep cause and remedy, and are cut between words."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from forebay.catalog import all_services
from forebay.cli import main
from forebay.cli.errors import in_a_line, lines_of, show
from forebay.kafka.errors import TopicsDiffer
from forebay.runtime.driver.broker_check import BrokerUnfit
from forebay.runtime.errors import StopJob
from forebay.service.agreement import Disagreement

SERVICES = all_services()

PROBLEMS = ["a: partitions is 2, should be 4; raise them", "b: cleanup.policy is delete, should be compact; alter it"]


def test_several_topics_give_a_line_each(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise TopicsDiffer(PROBLEMS)

    monkeypatch.setattr(main.cli, "main", fails)
    assert main.run(["topics", "create"]) == 1
    assert capsys.readouterr().err.splitlines() == [f"error: {problem}" for problem in PROBLEMS]


@pytest.mark.parametrize("error", [BrokerUnfit("job", PROBLEMS), Disagreement(SERVICES["price-join"], PROBLEMS)])
def test_each_line_begins_with_the_subject_of_its_problem(error: Exception) -> None:
    lines = lines_of(error)
    assert [line.endswith(problem) for line, problem in zip(lines, PROBLEMS, strict=True)] == [True, True]
    assert all(line.startswith(("job would lose state", "the entry of price-join")) for line in lines)


def test_machine_readable_marks_are_omitted() -> None:
    assert lines_of(StopJob("topics are missing")) == ["topics are missing"]


def test_a_very_long_error_keeps_its_beginning_and_its_end() -> None:
    line = in_a_line(f"the cause\n{'x ' * 5_000} the remedy")
    assert line.startswith("the cause x x")
    assert line.endswith("x the remedy")
    assert len(line) < 1_600
    assert "characters left out" in line


@pytest.mark.parametrize(("terminal", "lines"), [(True, 4), (False, 1)])
def test_lines_fit_a_terminal_and_stay_whole_in_a_file(terminal: bool, lines: int) -> None:
    file = io.StringIO()
    show(Console(file=file, force_terminal=terminal, width=40, color_system=None), ["seven letters " * 10])
    report = file.getvalue().splitlines()
    assert len(report) == lines
    assert "seven letters" in report[0]
    assert not any(line.strip().endswith(("sev", "lett")) for line in report)
