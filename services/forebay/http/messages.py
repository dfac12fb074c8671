"""Requests and answers, and the limits of a server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Request:
    """A GET, or a POST with a body.

    Args:
        path: parts of the path, decoded; an encoded slash stays within its part.
        parameters: what follows the question mark, decoded: every value of each name.
        authorization: the header of that name, "" without one.
        method: GET or POST.
        body: of a POST.
        accept: the header of that name, "" without one.
        forwarded: the header Forebay-Forwarded, by which a server says that it asks on behalf of a client.
    """

    path: tuple[str, ...]
    parameters: Mapping[str, list[str]] = field(default_factory=dict)
    authorization: str = ""
    method: str = "GET"
    body: bytes = b""
    accept: str = ""
    forwarded: str = ""

    @classmethod
    def of(cls, target: str, authorization: str = "", **more: Any) -> Request:
        """Read a request's target, such as `/stores/profiles/user%2F1?limit=3`. Raises ValueError for no URL."""
        url = urlsplit(target)
        path = tuple(unquote(part) for part in url.path.strip("/").split("/"))
        return cls(path, parse_qs(url.query, keep_blank_values=True), authorization, **more)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request gets.

    Args:
        body: all of it; or pieces, sent as they come until they end or the client is gone.
        headers: further ones.
    """

    status: int
    content_type: str
    body: bytes | Iterator[bytes]
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server takes at once; more is refused.

    Args:
        connections: open at the same time. One without a request makes room for a new one.
        answers: made at the same time; further requests wait.
        streams: answers in pieces that are followed at the same time.
        seconds: for a request to arrive, and as long again for its body.
    """

    connections: int = 1_000
    answers: int = 32
    streams: int = 100
    seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class Tls:
    """What a server proves itself with: PEM files."""

    certificate: Path
    key: Path


def json_answer(status: int, content: Mapping[str, Any], headers: Mapping[str, str] = NO_HEADERS) -> Answer:
    """Return a JSON object as an answer."""
    body = json.dumps(content, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"
    return Answer(status, "application/json", body, headers)


def refusal(status: int, text: str) -> Answer:
    """Return the answer to a request that can't be answered; the connection ends with it."""
    return json_answer(status, {"error": text}, {"Connection": "close"})
