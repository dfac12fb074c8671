"""Replaces a Python process that Spark starts: the fork server creates it, and this process ends with it.

    python -I -S fork_client.py -m MODULE [ARGUMENT]...

It imports only a few modules of the standard library. Without a fork server, it becomes the process itself. While it
waits, it is `cat`, which reads the server's socket to its end, because Python would take 4 MB for that.
"""

import json
import os
import socket
import sys

VARIABLE = "FOREBAY_FORK_SERVER"


def main() -> None:
    """Ask for the process and wait for its end."""
    command = sys.argv[1:]
    here = os.getcwd()  # noqa: PTH109 (pathlib would be imported for it)
    order: dict[str, object] = {"command": command, "environment": dict(os.environ), "directory": here}
    server = socket.socket(socket.AF_UNIX)
    if not _is_forked(server, order):
        os.execv(sys.executable, [sys.executable, *command])
    # Otherwise Spark's pipes would stay open after the process has ended.
    os.dup2(server.fileno(), 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.execvp("cat", ["cat"])


def _is_forked(server: socket.socket, order: dict[str, object]) -> bool:
    """Ask the server for a process. Return whether it forked one, because the server may end before."""
    try:
        server.connect(os.environ[VARIABLE])
        socket.send_fds(server, [b"\0"], [0, 1, 2])
        server.sendall(json.dumps(order).encode())
        server.shutdown(socket.SHUT_WR)
        return server.recv(1) != b""
    except OSError:
        return False


if __name__ == "__main__":
    main()
