"""The repositories of Maven artifacts: jgo's configuration, and the mirrors in Maven's settings.xml."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from jgo.config import GlobalSettings
from jgo.constants import MAVEN_CENTRAL_URL

from forebay.platform.errors import PlatformError

_PLACEHOLDER = re.compile(r"\$\{env\.([^}]+)\}")
_CENTRAL = "central"
_COVERS_CENTRAL = frozenset({"*", "external:*", _CENTRAL})


def remote_repositories(settings_xml: Path | None = None) -> dict[str, str]:
    """Return the repositories' URLs by name: those of jgo's configuration file, then central or its mirror.

    A mirror of central in ~/.m2/settings.xml replaces it, as in Maven.

    Raises:
        PlatformError: settings.xml exists but can't be read.
    """
    central = _central_mirror(settings_xml or Path.home() / ".m2" / "settings.xml") or MAVEN_CENTRAL_URL
    return {**GlobalSettings.load().repositories, _CENTRAL: central}


def local_repository() -> Path:
    """Return Maven's local repository: M2_REPO, jgo's setting, or ~/.m2/repository."""
    return Path(GlobalSettings.load().repo_cache)


def _central_mirror(settings_xml: Path) -> str | None:
    if not settings_xml.is_file():
        return None
    try:
        root = ElementTree.parse(settings_xml).getroot()
    except (ElementTree.ParseError, OSError) as error:
        raise PlatformError(f"can't read Maven's {settings_xml} ({error}): repair it or move it away.") from error
    for mirror in _elements(root, "mirror"):
        patterns = {pattern.strip() for pattern in _text(mirror, "mirrorOf").split(",")}
        if patterns & _COVERS_CENTRAL and f"!{_CENTRAL}" not in patterns:
            url = _PLACEHOLDER.sub(lambda match: os.environ.get(match.group(1), ""), _text(mirror, "url"))
            return url.rstrip("/") or None
    return None


def _elements(root: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    return (element for element in root.iter() if element.tag.rpartition("}")[2] == name)


def _text(parent: ElementTree.Element, name: str) -> str:
    return next((element.text or "" for element in _elements(parent, name)), "").strip()
