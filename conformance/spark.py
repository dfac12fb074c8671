"""Execution of cases in one Spark query. Each case is a state task, whose next steps are in the next micro-batch."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udf

from conformance.cases import BadCase, CaseResult, Difference, FileResult, case_files, load_cases
from conformance.runner import case_name, judge, make_script
from conformance.script import Declarations, Outcome, Script
from conformance.task import CHECKPOINT, decode_outcomes, encode_outcomes, run_steps
from forebay.runtime.driver.interrupt import kept_interrupt
from forebay.runtime.driver.session import SparkOptions, build_session
from forebay.runtime.snapshots.files import open_files
from forebay.runtime.snapshots.storage import SnapshotFiles
from forebay.testing.cell import Json

_STEPS_SCHEMA = "task int, start int, stop int"

Progress = Callable[[int, int], None]
"""Called after each micro-batch with its number and the number of all micro-batches."""


def case_function(cases: list[Json], checkpoint: str) -> Callable[[int, int, int], str]:
    """Return a function that runs steps of a case. Each case has snapshots like a job's task."""

    def run(task: int, start: int, stop: int) -> str:
        storage = SnapshotFiles(open_files(checkpoint), CHECKPOINT)
        return encode_outcomes(run_steps(cases[task], task, range(start, stop), storage))

    return run


@dataclass(slots=True)
class _Run:
    """A case that is being run, with its script and the outcomes of its steps."""

    name: str
    case: Json
    script: Script | None = None
    problem: str = ""
    outcomes: dict[int, Outcome] = field(default_factory=dict)

    def result(self) -> CaseResult:
        return CaseResult(self.name, problem=self.problem) if self.problem else judge(self.name, self._differences)

    def _differences(self) -> list[Difference]:
        assert self.script is not None
        steps = self.script.steps()
        missing = set(range(steps)) - self.outcomes.keys()
        if missing:
            raise BadCase(f"Spark gave no result for steps {sorted(missing)}")
        return list(self.script.differences([self.outcomes[step] for step in range(steps)]))


def run_on_spark(directory: Path, progress: Progress = lambda _number, _count: None) -> Iterator[FileResult]:
    """Run every case file below a directory in one Spark query. Raises FileNotFoundError if there are no files."""
    files = [(file, _prepare_file(file)) for file in case_files(directory)]
    _run_query([run for _, runs in files for run in runs if run.script is not None], progress)
    for file, runs in files:
        yield FileResult(file, tuple(run.result() for run in runs))


def _prepare_file(file: Path) -> list[_Run]:
    try:
        return [_prepare(case, index) for index, case in enumerate(load_cases(file))]
    except BadCase as error:
        return [_Run(file.name, None, problem=str(error))]


def _prepare(case: Json, index: int) -> _Run:
    run = _Run(case_name(case, index), case)

    def declare() -> Sequence[Difference]:
        run.script = make_script(case, Declarations())
        return ()

    run.problem = judge(run.name, declare).problem
    return run


def _run_query(runs: list[_Run], progress: Progress) -> None:
    if not runs:
        return
    with tempfile.TemporaryDirectory(prefix="forebay-conformance-") as place:
        batches = _write_batches(runs, Path(place) / "batches")
        checkpoint = str(Path(place) / "checkpoint")
        with kept_interrupt():
            session = build_session("forebay-conformance", checkpoint, SparkOptions())
        try:
            _stream(session, runs, Path(place) / "batches", checkpoint, lambda number: progress(number, batches))
        finally:
            session.stop()


def _write_batches(runs: list[_Run], directory: Path) -> int:
    """Write a file for each micro-batch, with a line for each case that has steps left. Return the number of files."""
    directory.mkdir()
    batches = [[] if run.script is None else run.script.batches() for run in runs]
    count = max(map(len, batches))
    for number in range(count):
        rows = [
            json.dumps({"task": task, "start": own[number].start, "stop": own[number].stop})
            for task, own in enumerate(batches)
            if number < len(own)
        ]
        file = directory / f"{number:05}.json"
        file.write_text("\n".join(rows))
        # Spark reads files in the order of their modification times.
        os.utime(file, (number, number))
    return count


def _stream(
    session: SparkSession, runs: list[_Run], batches: Path, checkpoint: str, progress: Callable[[int], None]
) -> None:
    def collect(frame: DataFrame, batch: int) -> None:
        for row in frame.collect():
            runs[row["task"]].outcomes.update(decode_outcomes(row["outcomes"]))
        progress(batch + 1)

    run_case = udf(case_function([run.case for run in runs], checkpoint), "string", useArrow=False).asNondeterministic()
    query = (
        session.readStream.schema(_STEPS_SCHEMA)
        .option("maxFilesPerTrigger", 1)
        .json(batches.as_uri())
        .select("task", run_case("task", "start", "stop").alias("outcomes"))
        .writeStream.foreachBatch(collect)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
