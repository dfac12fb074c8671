from __future__ import annotations

from pathlib import Path

import pytest
from jgo.constants import MAVEN_CENTRAL_URL

from forebay.platform import PlatformError
from forebay.platform.maven import local_repository, remote_repositories

SETTINGS = """\
<settings xmlns="http://maven.apache.org/SETTINGS/1.0.0"><mirrors><mirror>
  <id>m</id><mirrorOf>{covers}</mirrorOf><url>{url}</url>
</mirror></mirrors></settings>"""


@pytest.fixture(autouse=True)
def no_jgo_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JGO_CONFIG_FILE", str(tmp_path / "jgo.conf"))


def repositories(tmp_path: Path, covers: str, url: str) -> dict[str, str]:
    settings = tmp_path / "settings.xml"
    settings.write_text(SETTINGS.format(covers=covers, url=url), encoding="utf-8")
    return remote_repositories(settings)


def test_maven_central_is_used_without_settings(tmp_path: Path) -> None:
    assert remote_repositories(tmp_path / "none.xml") == {"central": MAVEN_CENTRAL_URL}


@pytest.mark.parametrize("covers", ["*", "central", "external:*", "other, central"])
def test_a_mirror_of_central_takes_its_place(tmp_path: Path, covers: str) -> None:
    assert repositories(tmp_path, covers, "http://mirror.test/maven/") == {"central": "http://mirror.test/maven"}


@pytest.mark.parametrize("covers", ["other", "*,!central", "external:http:*"])
def test_a_mirror_of_something_else_does_not(tmp_path: Path, covers: str) -> None:
    assert repositories(tmp_path, covers, "http://mirror.test/maven") == {"central": MAVEN_CENTRAL_URL}


def test_environment_variables_in_the_mirrors_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRROR", "mirror.test")
    assert repositories(tmp_path, "*", "https://${env.MIRROR}/m") == {"central": "https://mirror.test/m"}


def test_the_repositories_of_jgo_come_first(tmp_path: Path) -> None:
    (tmp_path / "jgo.conf").write_text("[repositories]\nown = http://own.test/m\n", encoding="utf-8")
    assert list(remote_repositories(tmp_path / "none.xml")) == ["own", "central"]


def test_broken_settings_are_named(tmp_path: Path) -> None:
    (tmp_path / "settings.xml").write_text("<settings>", encoding="utf-8")
    with pytest.raises(PlatformError, match=r"can't read Maven's .*settings\.xml"):
        remote_repositories(tmp_path / "settings.xml")


def test_the_local_repository_is_that_of_maven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("M2_REPO", "/data/m2")
    assert local_repository() == Path("/data/m2")
