"""A topology whose functions have no state is built once per process, and any other topology once per task."""

from __future__ import annotations

from dataclasses import dataclass

from forebay.builder import Topology, job
from forebay.sql.compile import topology_of
from forebay.sql.program import program_of
from forebay.sql.service import NoSettings
from forebay.testing import TestDriver


@dataclass(frozen=True)
class Settings:
    suffix: str = "a"


def several(built: list[Settings], settings: Settings) -> Topology:
    built.append(settings)
    topology = Topology()
    stream = topology.stream("in", str)
    for number in range(4):
        grouped = stream.group_by(lambda _, value: value, str)
        grouped.count(store=f"n{number}").to_stream().map_values(lambda _, n: str(n), str).to(f"out{number}")
    return topology


def test_a_shared_topology_is_built_once_per_settings() -> None:
    built: list[Settings] = []
    result = job(Settings, lambda settings: several(built, settings), is_shared=True)
    assert len(built) == 1
    driver = TestDriver(result, tasks=3)
    driver.pipe("k", "v")
    assert len(driver.outputs) == 4
    driver.restart()
    driver.pipe("k", "v")
    assert {output.value for output in driver.outputs[4:]} == {"2"}
    assert built == [Settings()]
    TestDriver(result, tasks=2, settings=Settings("b"))
    assert built == [Settings(), Settings("b")]


def test_state_in_functions_is_per_task_and_process() -> None:
    def build(_: NoSettings) -> Topology:
        seen: list[str] = []

        def count(key: str, _value: str) -> str:
            seen.append(key)
            return str(len(seen))

        topology = Topology()
        topology.stream("in", str).map_values(count, str).to("out")
        return topology

    driver = TestDriver(job(NoSettings, build), tasks=2)
    counts = [driver.pipe(key, "v")[0].value for key in "abcdefgh"]
    assert sorted(counts) != [str(number) for number in range(1, 9)], "the tasks share the state of functions"
    driver.restart()
    assert driver.pipe("a", "v")[0].value == "1"


def test_a_file_of_statements_is_compiled_once() -> None:
    declared = "CREATE STREAM s (k STRING KEY, a STRING, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
    queries = "".join(f"CREATE TABLE t{n} AS SELECT a, SUM(v + {n}) AS n FROM s GROUP BY a;" for n in range(6))
    program = program_of(declared + queries, "many.sql")
    compiled = []

    def build(_: object) -> Topology:
        compiled.append(program)
        return topology_of(program)

    driver = TestDriver(job(NoSettings, build, is_shared=True), tasks=4)
    driver.pipe_bytes(b"k", b'{"a": "x", "v": 1}', 1, "s")
    assert len(driver.outputs) == 6
    assert len(compiled) == 1
