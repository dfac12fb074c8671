"""kubectl, helm and docker as functions. KUBECONFIG selects the cluster."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
import uuid
from base64 import b64decode
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CHARTS = ROOT / "charts"


class CommandFailed(AssertionError):
    """A command failed. The message contains its exit code and output."""


def run(*command: str, seconds: float = 120.0, check: bool = True, given: str | None = None) -> str:
    """Run a command with the input `given`, and return its output. Raises CommandFailed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False, cwd=ROOT, input=given)
    if check and done.returncode:
        raise CommandFailed(f"{shlex.join(command)} failed with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


@cache
def chart(name: str) -> str:
    """Return a chart's folder, with the charts that it depends on packed into it."""
    folder = str(CHARTS / name)
    run("helm", "dependency", "update", "--skip-refresh", folder)
    return folder


class Background:
    """A command that runs in the background of a test."""

    def __init__(self, *command: str) -> None:
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - as long-lived as the command
        self._process = subprocess.Popen(command, stdout=self._output, stderr=subprocess.STDOUT, cwd=ROOT)

    def output(self) -> str:
        """Return the output so far."""
        self._output.flush()
        size = os.fstat(self._output.fileno()).st_size
        return os.pread(self._output.fileno(), size, 0).decode()

    def wait(self, seconds: float) -> int:
        """Wait for the end and return the exit code. Raises subprocess.TimeoutExpired."""
        return self._process.wait(seconds)

    def close(self) -> None:
        """Stop the command."""
        self._process.kill()
        self._process.wait()


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace of the cluster."""

    name: str

    @classmethod
    def create_restricted(cls) -> Namespace:
        """Create a namespace that enforces the Restricted standard for pods."""
        namespace = cls(f"forebay-{uuid.uuid4().hex[:6]}")
        run("kubectl", "create", "namespace", namespace.name)
        run("kubectl", "label", "namespace", namespace.name, "pod-security.kubernetes.io/enforce=restricted")
        return namespace

    def kubectl(self, *arguments: str, seconds: float = 120.0, check: bool = True) -> str:
        """Run kubectl in the namespace."""
        return run("kubectl", "-n", self.name, *arguments, seconds=seconds, check=check)

    def get(self, *arguments: str) -> dict[str, Any]:
        """Return the JSON output of `kubectl get`."""
        return dict(json.loads(self.kubectl("get", *arguments, "-o", "json")))

    def create(self, *objects: dict[str, Any]) -> None:
        """Create objects."""
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        run("kubectl", "-n", self.name, "create", "-f", "-", given=text)

    def names(self, kind: str, selector: str = "") -> list[str]:
        """Return the objects' names."""
        chosen = ("-l", selector) if selector else ()
        return [item["metadata"]["name"] for item in self.get(kind, *chosen)["items"]]

    def uid(self, pod: str) -> str:
        """Return a pod's UID, or "" if there is no pod of that name."""
        return pod and self.kubectl("get", "pod", pod, "--ignore-not-found", "-o", "jsonpath={.metadata.uid}")

    def is_ready(self, pod: str) -> bool:
        """Return whether a pod of that name exists and is ready."""
        if not pod:
            return False
        path = '{.status.conditions[?(@.type=="Ready")].status}'
        return self.kubectl("get", "pod", pod, "--ignore-not-found", "-o", f"jsonpath={path}") == "True"

    def python(self, pod: str, container: str, code: str) -> str:
        """Run Python in a pod and return its output, or "" if it fails."""
        return self.kubectl("exec", pod, "-c", container, "--", "python", "-c", code, check=False).strip()

    def can(self, account: str, verb: str, what: str) -> bool:
        """Return whether a ServiceAccount may do something."""
        user = f"--as=system:serviceaccount:{self.name}:{account}"
        return self.kubectl("auth", "can-i", verb, what, user, check=False).strip() == "yes"

    def secret(self, name: str, key: str) -> str:
        """Return the value of a key of a Secret."""
        return b64decode(self.get("secret", name)["data"][key]).decode()

    def last_words(self, pod: str) -> str:
        """Return the termination message of a pod's first container, which is the end of its log."""
        paths = ("lastState", "state")
        template = "".join(f"{{.status.containerStatuses[0].{path}.terminated.message}}" for path in paths)
        return self.kubectl("get", "pod", pod, "--ignore-not-found", "-o", f"jsonpath={template}", check=False)

    def readiness(self, pod: str, container: str = "driver") -> str:
        """Return the response of a job's /readyz, or "" if it does not respond."""
        ask = (
            "import urllib.request as u, urllib.error as e\n"
            "try: print(u.urlopen('http://127.0.0.1:8080/readyz').read().decode())\n"
            "except e.HTTPError as error: print(error.read().decode())"
        )
        return self.python(pod, container, ask)

    def helm(self, *arguments: str, seconds: float = 600.0, check: bool = True) -> str:
        """Run helm in the namespace."""
        return run("helm", "-n", self.name, *arguments, seconds=seconds, check=check)

    def keep(self, folder: Path) -> None:
        """Write the events, and the descriptions and logs of pods, into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "events.txt").write_text(self.kubectl("get", "events", "--sort-by=.lastTimestamp", check=False))
        (folder / "pods.txt").write_text(self.kubectl("describe", "pods,pvc,statefulsets,deployments", check=False))
        for pod in self.names("pods"):
            for which in ((), ("--previous",)):
                log = self.kubectl("logs", pod, "--all-containers", "--prefix", *which, check=False)
                if log:
                    (folder / f"{pod}{''.join(which)}.log").write_text(log)
