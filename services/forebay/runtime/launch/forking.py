"""Starts the fork server of a driver, and publishes its address."""

from __future__ import annotations

import atexit
import logging
import shutil
import socket
import subprocess
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from forebay.runtime.launch.fork_client import VARIABLE
from forebay.runtime.launch.worker_python import is_own
from forebay.utils.private import make_socket_directory

log = logging.getLogger(__name__)

_SECONDS = 5.0
_ROOM = " " * 100
"""An argument that reserves space for the forks' command lines, which are longer than the server's."""


_SERVERS: list[subprocess.Popen[bytes]] = []


def start_fork_server(environment: MutableMapping[str, str]) -> None:
    """Start the server once, and publish its address in the environment of Spark's Python workers.

    It ends with this process, whose end closes its stdin. After its end, processes are started one by one.
    """
    if _SERVERS or not is_own(environment):
        return
    folder = Path(make_socket_directory("forebay-forks-"))
    path = str(folder / "socket")
    try:
        server = _start(path, environment)
    except OSError as error:  # such as a name that is too long for a socket
        shutil.rmtree(folder)
        log.warning("Python processes are started one by one, not forked: %s: %s", path, error)
        return
    environment[VARIABLE] = path
    _SERVERS.append(server)
    atexit.register(_end, server)


def _start(path: str, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        return subprocess.Popen(
            [environment["FOREBAY_PYTHON"], "-m", "forebay.runtime.launch.fork_server", str(listening.fileno()), _ROOM],
            stdin=subprocess.PIPE,
            pass_fds=[listening.fileno()],
            process_group=0,
            # As Spark starts Python: the same hashes in all of its processes, and unbuffered output.
            env={"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "YES", **environment},
        )


def _end(server: subprocess.Popen[bytes]) -> None:
    assert server.stdin is not None
    server.stdin.close()
    server.wait(_SECONDS)
