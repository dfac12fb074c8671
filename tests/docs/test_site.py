"""The documentation site is built in strict mode: a broken link or a page without a link to it is an error."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import MkDocsException

from forebay import builder, processor, stores, testing
from forebay.catalog import all_services
from forebay.cli.main import COMMANDS
from forebay.cli.services import settings_of

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
NOT_EXPLAINED = {"AnyProcessor", "NO_KEY"}
"""Exported names that are neither classes nor functions."""


@pytest.fixture
def config(tmp_path: Path) -> Iterator[MkDocsConfig]:
    path = list(sys.path)
    yield load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path / "site"))
    sys.path[:] = path


def test_every_page_is_built_and_every_command_described(config: MkDocsConfig) -> None:
    build(config)
    site = Path(config.site_dir)
    commands = (site / "reference" / "commands.html").read_text()
    for name in COMMANDS:
        assert re.search(rf"<h3[^>]*>forebay {name}<", commands), name
    settings = (site / "reference" / "settings.html").read_text()
    for service in all_services().values():
        for setting in settings_of(service):
            assert f"<code>{setting.name}</code>" in settings, setting.name
    reference = "".join(page.read_text() for page in (site / "api").glob("*.html"))
    missing = [
        f"{module.__name__}.{name}"
        for module in (builder, processor, stores, testing)
        for name in set(module.__all__) - NOT_EXPLAINED
        if not re.search(rf'id="forebay\.[a-z.]+\.{name}"', reference)
    ]
    assert not missing, "add them to docs/api"
    pages = {page.relative_to(ROOT / "docs").with_suffix("") for page in (ROOT / "docs").rglob("*.md")}
    for page in (page for page in pages if page.name != "README"):
        assert (site / page).with_suffix(".html").exists(), page
    for path in site.rglob("*.html"):
        for paragraph in re.findall(r"<p>(.*?)</p>", path.read_text(), re.DOTALL):
            # Markdown on GitHub begins a list after any line, that of the site only after an empty one.
            assert not re.search(r"^([-*]|\d+\.) ", paragraph, re.MULTILINE), f"{path.name}: put an empty line before"


def test_a_link_that_leads_nowhere_fails(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "README.md").write_text("# Home\n\n[gone](gone.md)\n")
    (tmp_path / "mkdocs.yml").write_text((ROOT / "mkdocs.yml").read_text().partition("hooks:")[0])
    with pytest.raises(MkDocsException, match="strict"):
        build(load_config(str(tmp_path / "mkdocs.yml")))
