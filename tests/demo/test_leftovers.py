"""Only one demo runs per home directory. The next demo ends the child processes of a killed one."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from forebay.demo.errors import DemoError
from forebay.demo.leftovers import only_demo


@pytest.fixture
def orphan() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


def test_a_second_demo_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with only_demo(home), pytest.raises(DemoError, match="another demo runs in"), only_demo(home):
        pass
    with only_demo(home):
        assert home.is_dir()


def test_processes_of_a_killed_demo_are_ended(tmp_path: Path, orphan: subprocess.Popen[bytes]) -> None:
    said: list[str] = []
    with only_demo(tmp_path) as ledger:
        ledger.add(orphan.pid)
    with only_demo(tmp_path) as ledger:
        ledger.end_leftovers(said.append)
        assert orphan.wait(10) is not None
        assert said == [f"an earlier demo left process {orphan.pid} running: stopping it"]
        ledger.end_leftovers(said.append)
    assert len(said) == 1


def test_after_a_good_end_nothing_is_left(tmp_path: Path, orphan: subprocess.Popen[bytes]) -> None:
    with only_demo(tmp_path) as ledger:
        ledger.add(orphan.pid)
        ledger.clear()
        ledger.end_leftovers(pytest.fail)
    assert orphan.poll() is None


def test_a_later_process_of_the_same_pid_is_left_alone(tmp_path: Path, orphan: subprocess.Popen[bytes]) -> None:
    (tmp_path / "demo.json").write_text(f'[{{"pid": {orphan.pid}, "started": 1.0}}]')
    with only_demo(tmp_path) as ledger:
        ledger.end_leftovers(pytest.fail)
    assert orphan.poll() is None


@pytest.mark.parametrize("text", ["", "{", "[1]", '[{"pid": "x"}]'])
def test_a_damaged_file_is_no_obstacle(tmp_path: Path, text: str) -> None:
    (tmp_path / "demo.json").write_text(text)
    with only_demo(tmp_path) as ledger:
        ledger.end_leftovers(pytest.fail)
