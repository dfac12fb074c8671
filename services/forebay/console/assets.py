"""The files of the console's page, which are kept in memory and served with a content security policy."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType

from forebay.http.messages import Answer

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Only the console's own scripts run, and nothing is sent elsewhere, regardless of the content of records."""

_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": _POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-cache",
    }
)


def assets() -> dict[tuple[str, ...], Answer]:
    """Return the responses for the page's files, by path. The empty path is the page itself."""
    answers: dict[tuple[str, ...], Answer] = {
        (file.name,): Answer(200, _TYPES[file.name.rpartition(".")[2]], file.read_bytes(), _HEADERS)
        for file in (files(__package__) / "pages").iterdir()
        if file.name.rpartition(".")[2] in _TYPES
    }
    return {**answers, ("",): answers["index.html",]}
