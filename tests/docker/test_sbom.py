"""An image's SBOM lists Python packages from the lock file, Debian packages, and each jar with its digest."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def sbom() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sbom", ROOT / "docker" / "sbom.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def jar(file: Path, *poms: dict[str, str]) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("Some.class", file.name)
        for pom in poms:
            name = f"META-INF/maven/{pom['groupId']}/{pom['artifactId']}/pom.properties"
            archive.writestr(name, "#by maven\n" + "".join(f"{key}={value}\n" for key, value in pom.items()))
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_jar_is_named_by_its_pom(sbom: ModuleType, tmp_path: Path) -> None:
    digest = jar(tmp_path / "x.jar", {"groupId": "org.a", "artifactId": "b", "version": "1.2"})
    (result,) = sbom.jars([tmp_path])
    assert result["purl"] == "pkg:maven/org.a/b@1.2"
    assert result["hashes"] == [{"alg": "SHA-256", "content": digest}]


def test_a_jar_made_of_others_is_named_by_its_file(sbom: ModuleType, tmp_path: Path) -> None:
    poms = [{"groupId": "org.a", "artifactId": name, "version": "1"} for name in "bc"]
    jar(tmp_path / "all-in-one_2.13-4.3.0.jar", *poms)
    (result,) = sbom.jars([tmp_path])
    assert (result["purl"], result["version"]) == ("pkg:generic/all-in-one_2.13@4.3.0", "4.3.0")


def test_the_same_jar_in_two_places_counts_once(sbom: ModuleType, tmp_path: Path) -> None:
    jar(tmp_path / "a" / "x-1.jar")
    jar(tmp_path / "b" / "y-2.jar")
    (tmp_path / "b" / "x-1.jar").write_bytes((tmp_path / "a" / "x-1.jar").read_bytes())
    assert [jar["name"] for jar in sbom.jars([tmp_path / "a", tmp_path / "b"])] == ["x", "y"]


def test_debian_s_packages_are_named_as_scanners_look_for_them(sbom: ModuleType) -> None:
    (result,) = sbom.debian("libssl3 3.0.17-1~deb12u2 amd64\n")
    assert result["purl"] == "pkg:deb/debian/libssl3@3.0.17-1~deb12u2?arch=amd64"


def test_the_list_is_the_lock_s_with_what_the_image_adds(
    sbom: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dpkg-query").write_text("#!/bin/sh\nprintf 'bash 5.2 amd64\\n'\n")
    (tmp_path / "dpkg-query").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    jar(tmp_path / "jars" / "x-1.jar")
    python, out = tmp_path / "python.json", tmp_path / "share" / "image.json"
    python.write_text(json.dumps({"bomFormat": "CycloneDX", "components": [{"name": "click"}]}))
    sbom.main(python, out, [tmp_path / "jars"])
    bom: dict[str, Any] = json.loads(out.read_text())
    assert [column["name"] for column in bom["components"]] == ["click", "bash", "x"]
    assert bom["bomFormat"] == "CycloneDX"


def test_both_images_hold_their_list() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    for target, source in (("forebay", "/forebay.json"), ("platform", "/platform.json")):
        stage = dockerfile.split(f"FROM base AS {target}\n")[1].split("\nFROM ")[0]
        assert f"from=sbom,source={source}" in stage
        assert "/usr/share/sbom/image.cdx.json" in stage
