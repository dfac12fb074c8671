"""Fetch Maven artifacts with their run-time dependencies: fetch_jars.py FOLDER [GROUP:NAME:VERSION ...]."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from jgo.maven import MavenContext, PythonResolver


def main(folder: Path, coordinates: list[str]) -> None:
    """Copy the jars, except those that Spark includes under the same name, in any version."""
    folder.mkdir(parents=True, exist_ok=True)
    if not coordinates:
        return
    import pyspark  # noqa: PLC0415 - needed only if there are jars to compare

    have = {jar.name.rsplit("-", 1)[0] for jar in (Path(pyspark.__file__).parent / "jars").glob("*.jar")}
    context = MavenContext(resolver=PythonResolver())
    inputs, transitive = context.resolver.resolve([context.create_dependency(coordinate) for coordinate in coordinates])
    for dependency in (*inputs, *(element for element in transitive if element.scope in ("compile", "runtime"))):
        jar = Path(dependency.artifact.resolve())
        if jar.name.rsplit("-", 1)[0] not in have:
            shutil.copy(jar, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
