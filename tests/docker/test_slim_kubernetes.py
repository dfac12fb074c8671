"""The reduced package kubernetes of the image contains everything that Forebay calls."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docker.slim_kubernetes import main

CALLERS = Path(__file__).parents[2] / "services" / "forebay" / "runtime" / "kubernetes"


@pytest.mark.long
def test_every_class_that_forebay_calls_is_left(tmp_path: Path) -> None:
    spec = importlib.util.find_spec("kubernetes")
    assert spec is not None
    assert spec.origin is not None
    shutil.copytree(Path(spec.origin).parent, tmp_path / "kubernetes", ignore=shutil.ignore_patterns("__pycache__"))
    main(tmp_path / "kubernetes")
    text = "".join(file.read_text() for file in CALLERS.glob("*.py"))
    called = sorted(set(re.findall(r"\bclient\.([A-Z]\w+)", text)))
    assert {"CoreV1Api", "V1LeaseSpec"} <= set(called)
    watched = re.findall(r"\bclient\.(\w+Api)\(\w+\)\.(list_\w+)", text)
    assert len(watched) == 2
    statements = [
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})",
        "from kubernetes import client, config, watch",
        f"assert client.__file__.startswith({str(tmp_path)!r})",
        f"watched = [getattr(getattr(client, api), method) for api, method in {watched}]",
        "types = [watch.Watch().get_return_type(method) for method in watched]",
        f"missing = [name for name in {called} + types if not hasattr(client, name)]",
        "print(missing, hasattr(client, 'BatchV1Api'))",
    ]
    done = subprocess.run([sys.executable, "-c", "\n".join(statements)], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[] False", "")
