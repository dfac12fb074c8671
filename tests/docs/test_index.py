"""The documentation's index names every page and every service, and all links lead to existing pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from forebay.catalog import all_services

SERVICES = all_services()

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"\[[^]]*\]\((?!https?:)([^)#\s]+)")
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), ROOT / "benchmarks" / "README.md"])


def links(page: Path) -> set[Path]:
    return {(page.parent / target).resolve() for target in LINK.findall(page.read_text())}


def test_the_index_names_every_page() -> None:
    pages = {page.resolve() for page in DOCS.rglob("*.md")} - {DOCS / "README.md"}
    assert pages <= links(DOCS / "README.md") | links(DOCS / "decisions" / "README.md")


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_has_its_page_in_the_index(name: str) -> None:
    assert DOCS / "services" / f"{name}.md" in links(DOCS / "README.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert [str(target) for target in links(page) if not target.exists()] == []
