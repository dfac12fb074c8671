"""kubectl, helm and docker as functions; the cluster is KUBECONFIG's."""

from __future__ import annotations

import json
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CHARTS = ROOT / "charts"


class CommandFailed(AssertionError):
    """A command's exit code was not 0; the message has its output."""


def run(*command: str, seconds: float = 120.0, check: bool = True) -> str:
    """Run a command and give its output. Raises CommandFailed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False, cwd=ROOT)
    if check and done.returncode:
        said = [line for line in done.stderr.splitlines() if "found symbolic link" not in line]
        raise CommandFailed(f"{shlex.join(command)} failed with {done.returncode}:\n{done.stdout}" + "\n".join(said))
    return done.stdout


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace of the cluster."""

    name: str

    def kubectl(self, *arguments: str, seconds: float = 120.0, check: bool = True) -> str:
        """Run kubectl in it."""
        return run("kubectl", "-n", self.name, *arguments, seconds=seconds, check=check)

    def get(self, *arguments: str) -> dict[str, Any]:
        """Give objects as kubectl's JSON."""
        return dict(json.loads(self.kubectl("get", *arguments, "-o", "json")))

    def names(self, kind: str, selector: str = "") -> list[str]:
        """Give the objects' names."""
        chosen = ("-l", selector) if selector else ()
        return [item["metadata"]["name"] for item in self.get(kind, *chosen)["items"]]

    def uid(self, pod: str) -> str:
        """Give a pod's identity, or "" while there is none of that name."""
        return self.kubectl("get", "pod", pod, "--ignore-not-found", "-o", "jsonpath={.metadata.uid}")

    def is_ready(self, pod: str) -> bool:
        """Tell whether a pod is ready."""
        path = '{.status.conditions[?(@.type=="Ready")].status}'
        return self.kubectl("get", "pod", pod, "--ignore-not-found", "-o", f"jsonpath={path}") == "True"

    def helm(self, *arguments: str, seconds: float = 600.0, check: bool = True) -> str:
        """Run helm in it."""
        return run("helm", "-n", self.name, *arguments, seconds=seconds, check=check)

    def keep(self, folder: Path) -> None:
        """Write pods' logs, descriptions and the events into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "events.txt").write_text(self.kubectl("get", "events", "--sort-by=.lastTimestamp", check=False))
        (folder / "pods.txt").write_text(self.kubectl("describe", "pods,pvc,statefulsets", check=False))
        for pod in self.names("pods"):
            for which in ((), ("--previous",)):
                log = self.kubectl("logs", pod, "--all-containers", "--prefix", *which, check=False)
                if log:
                    (folder / f"{pod}{''.join(which)}.log").write_text(log)
