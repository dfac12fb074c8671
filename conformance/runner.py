"""Runner of case files. The content of a case determines how it is run, and not its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from conformance.cases import BadCase, CaseResult, Difference, FileResult, case_files, fields, load_cases
from conformance.key_value import KeyValueSteps, ListValueSteps
from conformance.script import Outcome, Script, Stores
from conformance.steps import StoreSteps
from conformance.streams import Assignment, StreamStreamTopology, StreamTableTopology
from conformance.tables import SuppressTopology, TableAggregateTopology, TableTableTopology
from conformance.timed_stores import SessionSteps, VersionedSteps, WindowSteps
from conformance.topology import Topology
from conformance.windowed import WindowedTopology
from forebay.stores.keys import NullKeyError
from forebay.testing.bench import Backend, Bench, open_bench
from forebay.testing.cell import Json

_STORES: dict[str, Callable[[Json, list[Json], Stores], StoreSteps]] = {
    "key_value": KeyValueSteps,
    "list_value": ListValueSteps,
    "lru": KeyValueSteps,
    "session": SessionSteps,
    "versioned": VersionedSteps,
    "window": WindowSteps,
}

_TOPOLOGIES: dict[str, Callable[[Json, Stores], Topology]] = {
    "stream_stream_join": StreamStreamTopology,
    "stream_table_join": StreamTableTopology,
    "table_aggregate": TableAggregateTopology,
    "table_count_by_value_then_suppress": SuppressTopology,
    "table_table_join": TableTableTopology,
    "table_table_multi_join": TableTableTopology,
    "windowed_aggregate": WindowedTopology,
}


def run_directory(directory: Path, backend: Backend) -> Iterator[FileResult]:
    """Run every case file below a directory. Raises FileNotFoundError if there are no files."""
    for file in case_files(directory):
        yield run_file(file, backend)


def run_file(file: Path, backend: Backend) -> FileResult:
    """Run the cases of a file. If it is not a case file, the result is one failure."""
    try:
        cases = load_cases(file)
    except BadCase as error:
        return FileResult(file, (CaseResult(file.name, problem=str(error)),))
    return FileResult(file, tuple(run_case(case, index, backend) for index, case in enumerate(cases)))


def run_case(case: Json, index: int, backend: Backend) -> CaseResult:
    """Run a case on a new, empty table."""

    def differences() -> list[Difference]:
        with open_bench(backend) as bench:
            script = make_script(case, bench)
            return list(script.differences(list(_outcomes(script, bench))))

    return judge(case_name(case, index), differences)


def judge(name: str, differences: Callable[[], Iterable[Difference]]) -> CaseResult:
    """Return the result of a case from its differences, or from the exception that computing them raises."""
    try:
        return CaseResult(name, tuple(differences()))
    except BadCase as error:
        return CaseResult(name, problem=str(error))
    except Exception as error:  # a case must never end the run
        return CaseResult(name, problem=f"{type(error).__name__}: {error}")


def case_name(case: Json, index: int) -> str:
    """Return the id of a case, or its position in the file."""
    return str(case.get("id", f"case {index}")) if isinstance(case, dict) else f"case {index}"


def make_script(case: Json, stores: Stores) -> Script:
    """Return the script of a case. Raises BadCase if it contains something unknown."""
    if not isinstance(case, dict):
        raise BadCase("it is not an object")
    if "steps" in case:
        fields("case", case, {"store", "steps"})
        kind = case["store"].get("kind")
        if kind not in _STORES:
            raise BadCase(f"unknown kind of store {kind!r}")
        return _STORES[kind](case["store"], case["steps"], stores)
    if "topology" in case:
        fields("case", case, {"topology", "input", "expected"})
        operator = case["topology"].get("op")
        if operator not in _TOPOLOGIES:
            raise BadCase(f"unknown op of a topology {operator!r}")
        topology = _TOPOLOGIES[operator](case, stores)
        topology.check()
        return topology
    return Assignment(case, stores)


def _outcomes(script: Script, bench: Bench) -> Iterator[Outcome]:
    for index in range(script.steps()):
        try:
            value = script.run(index)
        except NullKeyError as error:
            # As in a job, a step that fails leaves nothing behind. The next step sees the last commit.
            bench.roll_back()
            yield Outcome(error=type(error).__name__, text=str(error))
        else:
            bench.commit()
            yield Outcome(value)
