"""Forks the Python processes that Spark starts, from a process that has imported their modules.

    python -m forebay.runtime.launch.fork_server LISTENING < (a pipe that ends with the driver)

A start takes nine processes, each with a quarter to half a second of imports. This process imports once, while Java
starts, and its forks share the memory pages. It listens on an inherited socket. A client (`fork_client.py`) sends its
three standard streams, then a JSON object with `command`, `environment` and `directory`. It receives a byte from the
fork, and waits until the connection ends together with the fork.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import json
import os
import random
import runpy
import select
import shutil
import signal
import socket
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from forebay.runtime.launch.pandas_later import leave_pandas

_STREAMS = 3
_SECONDS = 10.0
_NEEDED = (
    "pyspark.daemon",
    "pyspark.worker",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.streaming.python_streaming_source_runner",
    "pyspark.sql.streaming.transform_with_state_driver_worker",
    "pyspark.sql.streaming.proto.StateMessage_pb2",
    "forebay.runtime.spark.source",
    "forebay.runtime.spark.holder",
    "forebay.runtime.spark.leases",
    "forebay.runtime.spark.planner",
)

Order = dict[str, Any]


def main() -> None:
    """Fork the requested processes until stdin ends. In a fork, become the requested process."""
    # The driver ends this process. A SIGTERM to all of the driver's processes must not affect Spark until its leases
    # have ended.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for name in _NEEDED:
        importlib.import_module(name)
    leave_pandas()
    gc.collect()
    gc.freeze()
    listening = socket.socket(fileno=int(sys.argv[1]))
    place = Path(listening.getsockname()).parent
    order = _serve(listening)
    if order is not None:
        return _become(order)
    shutil.rmtree(place, ignore_errors=True)
    os._exit(0)  # the imported modules have nothing to clean up


def _serve(listening: socket.socket) -> Order | None:
    """Return in each fork the process that it is to become; return None in the server, once stdin has ended."""
    poller = select.poll()
    poller.register(listening, select.POLLIN)
    poller.register(sys.stdin.fileno(), select.POLLIN)
    while True:
        ready = [fd for fd, _ in poller.poll()]
        if sys.stdin.fileno() in ready:
            return None
        with closing(listening.accept()[0]) as client:
            request = _receive(client)
            if request is None:
                continue
            streams, order = request
            if _fork() == 0:
                listening.close()
                client.send(b"\0")
                _take_over(client.detach(), streams)
                return order
            for stream in streams:
                os.close(stream)


def _receive(client: socket.socket) -> tuple[list[int], Order] | None:
    """Return streams and order; None if the client was killed before it had sent its order."""
    client.settimeout(_SECONDS)
    with suppress(OSError, ValueError):
        _, streams, _, _ = socket.recv_fds(client, 1, _STREAMS)
        with client.makefile("rb") as file:
            return streams, json.load(file)
    return None


def _fork() -> int:
    """Fork; return -1 if the system lacks resources. The client, which receives no byte, then starts the process."""
    try:
        return os.fork()
    except OSError as error:
        print(f"can't fork a Python process for Spark: {error}", file=sys.stderr)
        return -1


def _take_over(client: int, streams: list[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    _end_with(client)
    held = [client]

    def leave() -> None:
        if held:
            os.close(held.pop())

    # The client waits for this process, not for the processes that this one forks.
    os.register_at_fork(after_in_child=leave)


def _end_with(client: int) -> None:
    """Receive SIGTERM when the client ends. Spark ends a process by SIGTERM, which only the client receives."""
    if sys.platform == "linux":
        fcntl.fcntl(client, fcntl.F_SETSIG, signal.SIGTERM)
        fcntl.fcntl(client, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(client, fcntl.F_SETFL, fcntl.fcntl(client, fcntl.F_GETFL) | os.O_ASYNC)


def _become(order: Order) -> None:
    for which in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(which, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["directory"])
    _, module, *arguments = order["command"]
    if not sys.flags.safe_path:
        sys.path[0] = order["directory"]
    folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[1:1] = [place for place in folders if place and place not in sys.path]
    random.seed()
    _show(order["command"])
    sys.argv = [module, *arguments]
    sys.modules.pop(module, None)  # runpy warns about a module that is imported already
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _show(command: list[str]) -> None:
    """List this process under the command that it replaces, if the system supports it (Linux)."""
    with suppress(OSError, ValueError, IndexError):
        import ctypes  # noqa: PLC0415 (needed once, by forks)

        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123 (pathlib is not faster)
            begin, end = (int(field) for field in file.read().rpartition(b")")[2].split()[45:47])
        shown = b"\0".join(os.fsencode(part) for part in (sys.executable, *command))
        room = end - begin - 1
        ctypes.memmove(begin, shown[:room].ljust(room + 1, b"\0"), room + 1)


if __name__ == "__main__":
    main()
