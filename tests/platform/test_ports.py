from __future__ import annotations

import os
import socket

import psutil
import pytest

from forebay.platform import PlatformError
from forebay.platform.ports import HOST, free_port, is_free, require_free


def test_a_free_port_can_be_listened_on_and_is_below_the_ephemeral_range() -> None:
    port = free_port()
    assert port < 32768
    require_free(port, "broker", "--broker-port")
    with socket.create_server((HOST, port)):
        assert not is_free(port)
    assert is_free(port)


def test_ports_that_are_taken_are_not_returned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forebay.platform.ports._CANDIDATES", range(20000, 20300))
    taken = frozenset(range(20000, 20299))
    monkeypatch.setattr("forebay.platform.ports._ATTEMPTS", 300)
    monkeypatch.setattr("forebay.platform.ports.is_free", lambda _: True)
    assert free_port(taken) == 20299


def test_a_port_in_use_is_refused_with_its_holder_and_the_option() -> None:
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(PlatformError) as refused:
            require_free(port, "broker", "--broker-port")
    assert str(refused.value).startswith(f"port {port}, wanted for the broker, is in use by ")
    assert f"(pid {os.getpid()})" in str(refused.value)
    assert "--broker-port" in str(refused.value)


def test_the_start_waits_for_a_port_without_a_visible_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([False, False, True])
    monkeypatch.setattr("forebay.platform.ports.is_free", lambda _: next(answers))
    monkeypatch.setattr("forebay.platform.ports._holder", lambda _: "")
    require_free(1, "broker", "--broker-port")
    assert next(answers, None) is None, "the port was polled until it was free"


def test_the_start_waits_for_a_port_of_a_killed_process(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
        answers = iter([False, True])
        monkeypatch.setattr("forebay.platform.ports.is_free", lambda _: next(answers))
        monkeypatch.setattr(psutil.Process, "cmdline", lambda _: [])
        require_free(port, "broker", "--broker-port")
    assert next(answers, None) is None


def test_a_port_without_a_visible_owner_is_refused_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forebay.platform.ports.is_free", lambda _: False)
    monkeypatch.setattr("forebay.platform.ports._holder", lambda _: "")
    monkeypatch.setattr("forebay.platform.ports._RELEASE_SECONDS", 0.1)
    with pytest.raises(PlatformError, match="port 1, wanted for the broker, is in use: end that process"):
        require_free(1, "broker", "--broker-port")
