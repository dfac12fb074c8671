"""A topology that is defined in a user's program runs in another process, with its functions and records."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from forebay.builder import Topology
from forebay.interactive import shipped

pytestmark = pytest.mark.long

PROGRAM = '''
from __future__ import annotations
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from forebay.builder import Topology
from forebay.formats import LONG
from forebay.interactive.shipped import ship
from forebay.records import Record, replace
from forebay.serde.json_format import json_of
from forebay.time import tumbling

class Named(Record):
    user: str

class Click(Named):
    """A click."""
    page: Page
    count: int = 1
    def again(self) -> Click:
        return replace(self, count=self.count + 1)
    @property
    def is_many(self) -> bool:
        return self.count > 1

class Page(Record):
    path: str = "/"

@dataclass(frozen=True)
class Seen:
    user: str
    times: int = 0

def down(number: int) -> int:
    def further(rest: int) -> int:
        return further(rest - 1) if rest else LIMIT
    return further(number)

LIMIT = 7
topology = Topology()
clicks = topology.stream("clicks", json_of(Click))
clicks.map_values(lambda _, click: click.again(), json_of(Click)).to("again")
clicks.map_values(lambda _, click: down(click.count), LONG).to("down")
clicks.map_values(lambda user, click: Seen(user, len(fields(Seen)) + click.is_many), json_of(Seen)).to("seen")
clicks.group_by_key().windowed_by(tumbling(10)).count(store="windows").to_stream().to("windows")
names = topology.table("names", str, store="names")
clicks.left_join(names, lambda click, name: f"{name} {click.page.path}", str).to("named")
ship(topology, Path(sys.argv[1]), "clicks-seen", None)
'''

READER = """
from forebay.catalog import find_service
from forebay.interactive import shipped
from forebay.testing import TestDriver
Click = shipped.JOB.inputs["clicks"]
Page = Click.__annotations__["page"]
driver = TestDriver("clicks-seen")
driver.pipe("ann", "Ann", "names", 1)
sent = driver.pipe("ann", Click(user="ann", page=Page()), "clicks", 2)
print(sorted((each.topic, str(each.value)) for each in sent))
print(find_service("clicks-seen").stores)
"""


def run(code: str, *arguments: str | Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_functions_records_and_formats_of_a_program_are_copied(tmp_path: Path) -> None:
    folder = tmp_path / "shipped"
    run(PROGRAM, folder)
    printed = run(READER, FOREBAY_TOPOLOGY=str(folder), FOREBAY_SERVICES=shipped.MODULE).splitlines()
    assert printed[0] == str(
        [
            ("again", "Click(user='ann', page=Page(path='/'), count=2)"),
            ("down", "7"),
            ("named", "Ann /"),
            ("seen", "Seen(user='ann', times=2)"),
            ("windows", "1"),
        ]
    )
    assert printed[1].startswith("{'windows': ''")


def test_the_copy_is_its_user_s_alone(tmp_path: Path) -> None:
    topology = Topology()
    topology.stream("a", str).to("b")
    shipped.ship(topology, tmp_path / "shipped", "copies", None)
    assert {file.stat().st_mode & 0o077 for file in (tmp_path / "shipped").iterdir()} == {0}
    assert (tmp_path / "shipped").stat().st_mode & 0o077 == 0


def test_a_topology_that_only_keeps_a_table_is_copied(tmp_path: Path) -> None:
    topology = Topology()
    topology.table("names", str, store="names")
    result = shipped.ship(topology, tmp_path / "shipped", "kept-names", None)
    assert (result.service.outputs, dict(result.service.stores)) == ((), {"names": ""})


def test_an_object_that_can_t_be_copied_is_reported(tmp_path: Path) -> None:
    topology = Topology()
    with (tmp_path / "open").open("w") as file:
        topology.stream("a", str).filter(lambda _, text: bool(file.write(text))).to("b")
        with pytest.raises(shipped.CannotShip, match=r"the topology of writes can't be sent to the job's processes"):
            shipped.ship(topology, tmp_path / "shipped", "writes", None)
    assert not (tmp_path / "shipped").exists()
