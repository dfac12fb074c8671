"""The report counts runs and their results, and never counts a skipped run as passed."""

from __future__ import annotations

import json
import math

from faults.report import Run, Status, Suffered, Tally, line_of, percentile
from faults.verdict import differences

KILL = Suffered("JVM killed", Status.RECOVERED, 6.0, 6.0, 7.0)
SLOWER = Suffered("JVM killed", Status.RECOVERED, 9.0, 9.0, 11.0)
OUTAGE = Suffered("broker killed", Status.RECOVERED, 8.0, 2.0, 8.5)
SKIPPED = Suffered("disk full", Status.SKIPPED, reason="can't be mounted: must be root")


def tally() -> Tally:
    return Tally(
        [
            Run(1, "user-sessions", (KILL, OUTAGE), outputs=100),
            Run(2, "order-stores", (SLOWER, SKIPPED), outputs=50, lost=2, doubled=1, failure="output 7 differs\nmore"),
            Run(3, "user-sessions", (SKIPPED,)),
        ]
    )


def test_sums() -> None:
    report = tally().as_json()
    assert {name: value for name, value in report.items() if isinstance(value, int)} == {
        "runs": 2,
        "runs_skipped": 1,
        "runs_failed": 1,
        "faults_injected": 3,
        "faults_skipped": 2,
        "outputs_compared": 150,
        "lost": 2,
        "duplicated": 1,
    }
    json.dumps(report["details"])


def test_reports_of_several_processes_become_one() -> None:
    first, second = Tally(tally().runs[:1]), Tally(tally().runs[1:])
    reports = [json.loads(json.dumps(part.as_json())) for part in (second, first)]
    assert Tally.of_json(*reports) == tally()
    assert Tally.of_json(*reports, *reports) == tally()
    assert tally().seeds == {1, 2, 3}


def test_figures_by_kind() -> None:
    kinds = tally().as_json()["faults_by_kind"]
    assert kinds["JVM killed"]["recovery_p50_s"] == 6.0
    assert kinds["JVM killed"]["recovery_worst_s"] == 9.0
    assert kinds["JVM killed"]["every_partition_worst_s"] == 11.0
    assert kinds["broker killed"]["after_repair_worst_s"] == 2.0
    assert (kinds["disk full"]["injected"], kinds["disk full"]["skipped"]) == (0, 2)


def test_the_table_has_a_line_for_each_kind_and_the_sums() -> None:
    lines = tally().as_text().splitlines()
    assert [line.split("  ")[0].strip() for line in lines[1:5]] == ["JVM killed", "broker killed", "disk full", "all"]
    assert "runs 2" in lines[-1]
    assert "lost 2, duplicated 1" in lines[-1]


def test_a_run_is_one_line() -> None:
    line = line_of(tally().runs[1])
    assert line.count("\n") == 0
    assert "FAILED: output 7 differs" in line
    assert "disk full SKIPPED (can't be mounted: must be root)" in line


def test_a_failure_without_lost_outputs_fails_as_well() -> None:
    assert [run.seed for run in Tally([Run(4, "x", (KILL,), failure="did not come back")]).failed] == [4]


def test_percentiles() -> None:
    assert percentile([3, 1, 2, 4], 0.5) == 2
    assert percentile([3, 1, 2], 1.0) == 3
    assert math.isnan(percentile([], 0.5))


def test_differences_count_missing_and_surplus_outputs() -> None:
    wanted = {0: ["a", "b", "b"], 1: ["c"]}
    assert differences(wanted, wanted) == (0, 0)
    assert differences({0: ["a", "b"], 1: ["c"]}, wanted) == (1, 0)
    assert differences({0: ["a", "b", "b", "b"], 1: ["c"], 2: ["d"]}, wanted) == (0, 2)
    assert differences({0: ["a", "b", "x"]}, wanted) == (2, 1)
