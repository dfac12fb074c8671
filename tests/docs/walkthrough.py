"""Pages that tests execute: the files and commands of docs/new-service.md, and helpers shared with other pages."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import tomllib
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "new-service.md"
_BLOCK = re.compile(r"(?:^`(?P<name>[\w./]+)`\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: Path = PAGE) -> list[tuple[str, str, str]]:
    """Return (file, language, text) of each code block of a page, in order. The file is "" if the block has none."""
    return [(column["name"] or "", column["language"], column["text"]) for column in _BLOCK.finditer(page.read_text())]


def files() -> dict[str, str]:
    """Return the texts of the files on the page, by name."""
    return {name: text for name, _, text in blocks() if name}


def commands(language: str = "bash") -> list[str]:
    """Return the page's blocks of a shell language. Blocks marked `sh` are for a cluster."""
    return [text for _, item, text in blocks() if item == language]


def write(folder: Path) -> None:
    """Create the package as the page describes."""
    for name, text in files().items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (folder / "page_counts" / "__init__.py").touch()


def install(folder: Path) -> None:
    """Write the metadata with the package's entry point, as its installation would."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    metadata = folder / f"page_counts-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    points = ConfigParser()
    points.read_dict(project["entry-points"])
    with (metadata / "entry_points.txt").open("w") as file:
        points.write(file)


def shell(folder: Path, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a shell block in `folder` with `forebay` on the PATH. It ends at the first command that fails."""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    forebay = tools / "forebay"
    forebay.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m forebay.cli.main "$@"\n')
    forebay.chmod(forebay.stat().st_mode | stat.S_IXUSR)
    path = os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]])
    libraries = os.pathsep.join([str(ROOT / "services"), str(ROOT)])
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": libraries, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
