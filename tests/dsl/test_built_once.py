"""A topology is built once per process, however many sub-topologies and tasks run from it."""

from __future__ import annotations

from dataclasses import dataclass

from forebay.builder import Topology, job
from forebay.builder.built import SharedFigures
from forebay.sql.compile import topology_of
from forebay.sql.program import program_of
from forebay.sql.service import NoSettings
from forebay.testing import TestDriver


@dataclass(frozen=True)
class Settings:
    suffix: str = "a"


def test_all_tasks_run_from_one_topology_per_settings() -> None:
    built: list[Settings] = []

    def build(settings: Settings) -> Topology:
        built.append(settings)
        topology = Topology()
        stream = topology.stream("in", str)
        for number in range(4):
            grouped = stream.group_by(lambda _, value: value, str)
            grouped.count(store=f"n{number}").to_stream().map_values(lambda _, n: str(n), str).to(f"out{number}")
        return topology

    made = job(Settings, build)
    assert len(built) == 1
    driver = TestDriver(made, tasks=3)
    driver.pipe("k", "v")
    assert len(driver.outputs) == 4
    driver.restart()
    driver.pipe("k", "v")
    assert {output.value for output in driver.outputs[4:]} == {"2"}
    assert built == [Settings()]
    TestDriver(made, tasks=2, settings=Settings("b"))
    assert built == [Settings(), Settings("b")]


def test_a_file_of_statements_is_compiled_once() -> None:
    declared = "CREATE STREAM s (k STRING KEY, a STRING, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
    queries = "".join(f"CREATE TABLE t{n} AS SELECT a, SUM(v + {n}) AS n FROM s GROUP BY a;" for n in range(6))
    program = program_of(declared + queries, "many.sql")
    compiled = []

    def build(_: object) -> Topology:
        compiled.append(program)
        return topology_of(program)

    driver = TestDriver(job(NoSettings, build), tasks=4)
    driver.pipe_bytes(b"k", b'{"a": "x", "v": 1}', 1, "s")
    assert len(driver.outputs) == 6
    assert len(compiled) == 1


def test_what_functions_count_is_shared_out_among_tasks() -> None:
    total: dict[str, float] = {}
    figures = SharedFigures(lambda: total)
    tasks = [figures.of_one() for _ in range(3)]
    for number in range(7):
        total["n"] = total.get("n", 0.0) + 1
        tasks[number % 3]()
    given = [task().get("n", 0.0) for task in tasks]
    assert sum(given) == total["n"] == 7
    assert given == [3.0, 2.0, 2.0]
