"""Access to the release's broker and registry from this machine's loopback address."""

from __future__ import annotations

import socket
import subprocess
import threading
from contextlib import closing, suppress

from cluster.kube import Namespace
from cluster.polling import poll_until

BROKER_PORT = 19092


def free_port() -> int:
    """Return an unused port."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Forward:
    """`kubectl port-forward` to a pod, which is restarted when the pod is replaced."""

    def __init__(self, namespace: Namespace, pod: str, local: int, remote: int) -> None:
        self.port = local
        self._command = ["kubectl", "-n", namespace.name, "port-forward", f"pod/{pod}", f"{local}:{remote}"]
        self._closed = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._keep, name=f"forward-{pod}", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait until the pod responds."""
        poll_until(self._answers, f"{' '.join(self._command)} answers", 120)

    def close(self) -> None:
        """Stop forwarding."""
        self._closed.set()
        if self._process is not None:
            self._process.terminate()
        self._thread.join(10)

    def _answers(self) -> bool:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), 2).close()
            return True
        return False

    def _keep(self) -> None:
        while not self._closed.is_set():
            quiet = subprocess.DEVNULL
            self._process = subprocess.Popen(self._command, stdout=quiet, stderr=quiet)
            self._process.wait()
            self._closed.wait(1.0)
