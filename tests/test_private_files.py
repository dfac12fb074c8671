"""State, copies and logs can be read only by their user, regardless of the shell's umask."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from forebay.cli import main as command_line
from forebay.cli.lazy import LazyCommand
from forebay.platform import process
from forebay.platform.home import make_home
from forebay.runtime.driver.checkpoint import held_checkpoint
from forebay.runtime.driver.session import checkpoint_settings
from forebay.stores.disk import DiskTable
from forebay.stores.standby_tables import CopyTable
from forebay.utils.private import make_private_directory, make_private_file, make_socket_directory


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_platform_s_directory_and_logs(tmp_path: Path) -> None:
    home = tmp_path / "deep" / "home"
    make_home(home)
    assert (mode(home), mode(home / "logs")) == (0o700, 0o700)


def test_output_of_broker_and_registry(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text(f"#!/bin/sh\ntouch {tmp_path}/data\n")
    java.chmod(0o700)
    process.spawn(java, [], tmp_path / "broker.log", "broker")
    deadline = time.monotonic() + 20
    while not (tmp_path / "data").exists():
        assert time.monotonic() < deadline, "the process writes its file within 20 s"
    assert (mode(tmp_path / "broker.log"), mode(tmp_path / "data")) == (0o600, 0o600)


def test_a_checkpoint(tmp_path: Path) -> None:
    with held_checkpoint(str(tmp_path / "checkpoint")):
        assert mode(tmp_path / "checkpoint") == 0o700
    assert checkpoint_settings("/data/x")["spark.hadoop.fs.permissions.umask-mode"] == "077"
    assert checkpoint_settings("hdfs://host/x") == {}


def test_a_warm_copy(tmp_path: Path) -> None:
    copy = CopyTable(tmp_path / "copies" / "a.sqlite")
    copy.apply([(b"a", b"1")], b"one")
    assert mode(tmp_path / "copies") == 0o700
    assert {mode(file) for file in (tmp_path / "copies").iterdir()} == {0o600}
    copy.close()


def test_a_table_on_disk(tmp_path: Path) -> None:
    table = DiskTable(str(tmp_path / "tables"), "t")
    assert mode(tmp_path / "tables") == 0o700
    table.close()


def test_existing_files_stay_unchanged(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir(mode=0o755)
    (tmp_path / "file").write_text("kept")
    make_private_directory(tmp_path / "shared")
    make_private_file(tmp_path / "file")
    assert (mode(tmp_path / "shared"), (tmp_path / "file").read_text()) == (0o755, "kept")


@click.command
@click.argument("file")
def written(file: str) -> None:
    """Write a file like commands and their child processes."""
    Path(file).write_text("")


@pytest.mark.parametrize(("command", "expected"), [("written", 0o600), ("views", 0o666)])
def test_a_command_s_files_are_private_but_those_for_a_source_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, expected: int
) -> None:
    here = LazyCommand(f"{__name__}:written", "")
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    monkeypatch.setitem(command_line.COMMANDS, command, here)
    assert command_line.run([command, str(tmp_path / "file")]) == 0
    assert mode(tmp_path / "file") == expected
    assert os.umask(0) == 0, "the umask is as it was"


def test_a_socket_can_be_bound_in_any_directory_of_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("long" * 30)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    folder = Path(make_socket_directory("forebay-workers-"))
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(folder / f".{2**22}-{2**22}"))
        assert folder.stat().st_mode & 0o777 == 0o700
    finally:
        shutil.rmtree(folder)


def test_a_short_directory_of_temporary_files_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        monkeypatch.setattr(tempfile, "tempdir", short)
        assert Path(make_socket_directory("x-")).parent == Path(short)
