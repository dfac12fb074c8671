"""Add to the documentation site: pages from elsewhere in the repository, and references generated from code.

Pages use the repository's links, so that they work there, too. The hooks resolve each link from its page's path in the
repository. A broken link fails the build.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

import click
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from forebay.catalog import Service, all_services
from forebay.cli.main import cli
from forebay.cli.services import settings_of

ROOT = Path(__file__).parents[2]
ELSEWHERE = {
    "README.md": "project/readme.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "SECURITY.md": "project/security.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "benchmarks/README.md": "project/benchmarks.md",
}
"""Paths of pages on the site by their path in the repository."""

COMMANDS = "reference/commands.md"
SETTINGS = "reference/settings.md"
_LINK = re.compile(r"(!?)\[([^]]*)]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are not in docs/."""
    for path, place in ELSEWHERE.items():
        files.append(File.generated(config, place, content=(ROOT / path).read_text()))
    files.append(File.generated(config, COMMANDS, content=command_reference()))
    files.append(File.generated(config, SETTINGS, content=settings_reference()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replace links of the repository by links of the site. A link to a file outside of the site becomes its text."""
    place = page.file.src_uri
    source = next((path for path, uri in ELSEWHERE.items() if uri == place), f"docs/{place}")
    return _LINK.sub(lambda link: _resolve(link, source, place), markdown)


def _resolve(link: re.Match[str], source: str, place: str) -> str:
    mark, text, target, anchor = link.groups()
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    if not (ROOT / path).exists():
        raise PluginError(f"{source}: there is no {path}, which it links to")
    uri = ELSEWHERE.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else "")
    if not uri:
        return text
    return f"{mark}[{text}]({posixpath.relpath(uri, posixpath.dirname(place) or '.')}{anchor or ''})"


def command_reference() -> str:
    """Return a page with the help of each command."""
    context = click.Context(cli, info_name="forebay", max_content_width=100, terminal_width=100)
    return "\n".join(["# Commands", "", "Generated from `--help`.", *_helps(cli, context, 2)])


def settings_reference() -> str:
    """Return a page with the settings of each service's logic."""
    parts = [_settings(service) for service in all_services().values()]
    return "\n".join(
        ["# Settings", "", "Settings for `--set NAME=VALUE`, generated from the code of the services.", *parts]
    )


def _settings(service: Service) -> str:
    head = f"\n## {service.name}\n\n| setting | default | meaning |\n|---|---|---|\n"
    rows = [
        f"| `{setting.name}` ({setting.kind.replace('|', ' or ')}) | `{setting.default}` | {setting.meaning} |"
        for setting in settings_of(service)
    ]
    return head + "\n".join(row.replace("\n", " ") for row in rows) if rows else f"\n## {service.name}\n\nNone."


def _helps(command: click.Command, context: click.Context, level: int) -> list[str]:
    lines = ["", f"{'#' * level} {context.command_path}", "", "```text", command.get_help(context), "```"]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                below = click.Context(inner, parent=context, info_name=name, terminal_width=100)
                lines += _helps(inner, below, min(level + 1, 4))
    return lines
