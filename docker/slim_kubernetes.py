"""Delete all APIs of the package kubernetes except those that Forebay calls: slim_kubernetes.py FOLDER."""

from __future__ import annotations

import compileall
import re
import sys
from pathlib import Path

_APIS = ("apps_v1", "coordination_v1", "core_v1")
_MODELS = (
    "V1Deployment",
    "V1DeploymentList",
    "V1Pod",
    "V1PodList",
    "V1Lease",
    "CoreV1Event",
    "V1Status",
    "VersionInfo",
)
_IMPORT = re.compile(r"from kubernetes\.client\.(api|models)\.(\w+) import (\w+)")


def main(folder: Path) -> None:
    """Delete the modules of other APIs, and the lines that import them in __init__.py files."""
    client = folder / "client"
    modules = {
        name: module for kind, module, name in _IMPORT.findall((client / "__init__.py").read_text()) if kind == "models"
    }
    needed = {("api", f"{api}_api") for api in _APIS} | {("models", modules[name]) for name in _models(client, modules)}
    for file in (client / "__init__.py", client / "api" / "__init__.py", client / "models" / "__init__.py"):
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(line for line in lines if _is_needed(line, needed)))
    for kind in ("api", "models"):
        for file in (client / kind).glob("*.py"):
            if file.stem != "__init__" and (kind, file.stem) not in needed:
                file.unlink()
                for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
                    compiled.unlink()
    if not compileall.compile_dir(folder, quiet=1):
        raise SystemExit("the package kubernetes can't be compiled")


def _models(client: Path, modules: dict[str, str]) -> set[str]:
    """Return the models of which the objects that Forebay uses consist."""
    models: set[str] = set()
    waiting = list(_MODELS)
    while waiting:
        name = waiting.pop()
        if name not in models:
            models.add(name)
            text = (client / "models" / f"{modules[name]}.py").read_text()
            waiting += [other for other in re.findall(r"\w+", text) if other in modules]
    return models


def _is_needed(line: str, needed: set[tuple[str, str]]) -> bool:
    imported = _IMPORT.match(line)
    return imported is None or (imported[1], imported[2]) in needed


if __name__ == "__main__":
    main(Path(sys.argv[1]))
