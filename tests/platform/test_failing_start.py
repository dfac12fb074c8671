from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from forebay.platform import Platform, PlatformError, Ports
from forebay.platform.ports import HOST
from forebay.platform.progress import Download

MakeJava = Callable[[str], Path]

FORMATS_THEN_DIES = """
if "kafka.tools.StorageTool" not in sys.argv:
    print("ERROR no space left for the log")
    sys.exit(1)
"""


@pytest.fixture(autouse=True)
def no_downloads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("forebay.platform.artifacts.kafka_classpath", lambda _: (tmp_path / "kafka.jar",))
    monkeypatch.setattr("forebay.platform.artifacts.registry_jar", lambda _: tmp_path / "registry.jar")


def test_a_process_that_dies_is_reported_with_the_end_of_its_log(fake_java: MakeJava, tmp_path: Path) -> None:
    fake_java(FORMATS_THEN_DIES)
    platform = Platform(tmp_path / "home")
    with pytest.raises(PlatformError, match=r"the broker ended while it started.*broker\.log") as failed:
        platform.up()
    assert "no space left for the log" in failed.value.log_tail
    assert [component.pid for component in platform.status().components] == [None, None]


def test_data_that_cant_be_formatted_is_reported(fake_java: MakeJava, tmp_path: Path) -> None:
    fake_java("print('bad cluster id'); sys.exit(1)")
    with pytest.raises(PlatformError, match="can't be formatted") as failed:
        Platform(tmp_path / "home").up()
    assert "bad cluster id" in failed.value.log_tail


def test_a_process_that_never_answers_is_stopped(fake_java: MakeJava, tmp_path: Path) -> None:
    fake_java("if 'format' not in sys.argv: signal.pause()")
    platform = Platform(tmp_path / "home")
    with pytest.raises(KeyboardInterrupt):
        platform.up(_InterruptsWhenStarted())
    assert [component.pid for component in platform.status().components] == [None, None]
    platform.broker.launch(_InterruptsWhenStarted())
    with pytest.raises(PlatformError, match=r"the broker doesn't answer on port \d+ after 0 s"):
        platform.broker.wait_ready(0)
    platform.down()


def test_a_wanted_port_that_is_taken_is_refused_and_not_remembered(fake_java: MakeJava, tmp_path: Path) -> None:
    fake_java("sys.exit(1)")
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
        platform = Platform(tmp_path / "home", Ports(registry=port))
        with pytest.raises(PlatformError, match=f"port {port}, wanted for the registry, is in use"):
            platform.up()
    assert platform.status().components == ()


class _InterruptsWhenStarted:
    """A progress display that simulates Ctrl-C once both processes have been started."""

    def __init__(self) -> None:
        self.steps = 0

    def step(self, message: str) -> None:
        self.steps += 1
        if self.steps == 2:
            raise KeyboardInterrupt

    def download(self, label: str) -> AbstractContextManager[Download]:
        raise AssertionError(label)
