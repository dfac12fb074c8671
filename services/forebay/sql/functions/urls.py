"""Functions for URLs with the rules of Java's `URI`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote_plus, unquote, unquote_plus

from forebay.sql.functions.registry import function
from forebay.sql.limits import create_letters
from forebay.sql.types import INT, STRING

_PARTS = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_ILLEGAL = re.compile(r'[\x00-\x20"<>\\^`{|}\x7f-\xa0\u2028\u2029]|%(?![0-9A-Fa-f]{2})')
_SERVER = re.compile(
    r"(?:[^@\[\]]*@)?"
    r"(\[[0-9A-Fa-f:.]+(?:%\w+)?\]|(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)*[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.?"
    r"|\d{1,3}(?:\.\d{1,3}){3})(?::(\d*))?"
)


class Url(NamedTuple):
    """The parts of a URL. A part is None if the URL does not have it."""

    scheme: str | None
    host: str | None
    port: int | None
    path: str | None
    query: str | None
    fragment: str | None


def parse_url(text: str) -> Url:
    """Return the parts of a URL with decoded escapes. Raises ValueError if the URL is invalid."""
    match = _PARTS.fullmatch(text)
    if match is None or _ILLEGAL.search(text):
        raise ValueError(f"{text[:80]!r} is not a URL")
    scheme, authority, path, query, fragment = match.groups()
    if scheme is not None and not _SCHEME.fullmatch(scheme):
        raise ValueError(f"{text[:80]!r} is not a URL: its scheme is {scheme!r}")
    if scheme is None and authority is None and path.startswith(":"):
        raise ValueError(f"{text[:80]!r} is not a URL: it has no scheme")
    if authority == "" and not path:
        raise ValueError(f"{text[:80]!r} is not a URL: it has no host")
    if "[" in path or "]" in path or "#" in (fragment or ""):
        raise ValueError(f"{text[:80]!r} is not a URL")
    if scheme is not None and authority is None and not path.startswith("/"):
        if not path and query is None:
            raise ValueError(f"{text[:80]!r} is not a URL: nothing follows its scheme")
        return Url(scheme, None, None, None, None, _decode(fragment))  # such as mailto:
    server = _SERVER.fullmatch(authority) if authority else None
    port = int(server[2]) if server is not None and server[2] else None
    host = None if server is None else server[1]
    return Url(scheme, host, port, _decode(path), _decode(query), _decode(fragment))


def _decode(part: str | None) -> str | None:
    return None if part is None else unquote(part)


def parameter(text: str, name: str) -> str | None:
    """Return a parameter of a URL's query, "" if it has no value, or None if it does not exist. Raises ValueError."""
    for part in (parse_url(text).query or "").split("&"):
        key, _, value = part.partition("=")
        if key == name and part:
            return value
    return None


def encode_parameter(text: str) -> str:
    """Return a text encoded as a form parameter. Raises LimitReached."""
    result = quote_plus(text, safe="*").replace("~", "%7E")
    create_letters(len(result), "URL_ENCODE_PARAM")
    return result


def decode_parameter(text: str) -> str:
    """Return the text of an encoded form parameter. Raises ValueError for invalid escapes."""
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        raise ValueError(f"{text[:80]!r} has a % without two digits")
    return unquote_plus(text)


def _part(name: str) -> Callable[[str], Any]:
    def part(text: str) -> Any:
        return getattr(parse_url(text), name)

    return part


function("URL_ENCODE_PARAM", "s", STRING, encode_parameter, is_limited=True)
function("URL_DECODE_PARAM", "s", STRING, decode_parameter)
function("URL_EXTRACT_PARAMETER", "s s", STRING, parameter)
for _name, _field in (
    ("FRAGMENT", "fragment"),
    ("HOST", "host"),
    ("PATH", "path"),
    ("PROTOCOL", "scheme"),
    ("QUERY", "query"),
):
    function(f"URL_EXTRACT_{_name}", "s", STRING, _part(_field))
function("URL_EXTRACT_PORT", "s", INT, _part("port"))
