"""Write the bill of materials of an image in CycloneDX: sbom.py PYTHON.json OUT.json FOLDER ...

PYTHON.json is uv's export of the lock. The script adds the Debian packages, and the jars in the folders.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Component = dict[str, Any]

_POM = re.compile(r"META-INF/maven/[^/]+/[^/]+/pom\.properties")
_VERSIONED = re.compile(r"(?P<name>.+?)-(?P<version>\d.*)")


def debian(listing: str) -> Iterator[Component]:
    """Yield the packages of a listing, which has a line for each package: name, version and architecture."""
    for line in listing.splitlines():
        name, version, architecture = line.split()
        purl = f"pkg:deb/debian/{name}@{version}?arch={architecture}"
        yield {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def jars(folders: list[Path]) -> Iterator[Component]:
    """Yield the jars in some folders, each once, with their Maven coordinates if they contain them."""
    seen = set()
    for file in sorted(file for folder in folders for file in folder.rglob("*.jar")):
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        if digest not in seen:
            seen.add(digest)
            yield _jar(file, digest)


def _jar(file: Path, digest: str) -> Component:
    result = _coordinates(file)
    parts = _VERSIONED.fullmatch(file.stem)
    name = result.get("artifactId") or (parts["name"] if parts else file.stem)
    version = result.get("version") or (parts["version"] if parts else "")
    kind = f"maven/{result['groupId']}" if "groupId" in result else "generic"
    return {
        "type": "library",
        "bom-ref": f"{file.name}-{digest[:12]}",
        "name": name,
        "version": version,
        "purl": f"pkg:{kind}/{name}@{version}",
        "hashes": [{"alg": "SHA-256", "content": digest}],
    }


def _coordinates(file: Path) -> dict[str, str]:
    """Return groupId, artifactId and version of a jar; {} unless it contains one pom (shaded jars have several)."""
    with zipfile.ZipFile(file) as jar:
        poms = [name for name in jar.namelist() if _POM.fullmatch(name)]
        if len(poms) != 1:
            return {}
        lines = jar.read(poms[0]).decode("utf-8", errors="replace").splitlines()
    pairs = (line.partition("=") for line in lines if "=" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def main(python: Path, out: Path, folders: list[Path]) -> None:
    """Write the bill of materials."""
    bom = json.loads(python.read_text(encoding="utf-8"))
    query = ["dpkg-query", "--show", "--showformat=${Package} ${Version} ${Architecture}\\n"]
    listing = subprocess.run(query, capture_output=True, text=True, check=True).stdout
    bom["components"] += [*debian(listing), *jars(folders)]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(bom, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), [Path(folder) for folder in sys.argv[3:]])
