"""Requests and responses, and the limits of a server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

_OF_A_PAGE = 2
"""Parts of the path of a page without parameters, if it ends with a slash."""

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Request:
    """A GET, or a POST with a body.

    Args:
        path: decoded parts of the path. An encoded slash stays within its part. If the path of a page with a parameter
            ends with a slash, the last part is an empty text, such as the empty key of `/stores/profiles/`.
        parameters: decoded values of the query string, by name.
        authorization: the Authorization header; "" if it is missing.
        method: GET or POST.
        body: body of a POST.
        accept: the Accept header; "" if it is missing.
        forwarded: the header Forebay-Forwarded, with which a server forwards a client's request.
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
        """Return the request of a target such as `/stores/profiles/user%2F1?limit=3`. Raises ValueError."""
        url = urlsplit(target)
        path = tuple(unquote(part) for part in url.path.lstrip("/").split("/"))
        if len(path) == _OF_A_PAGE and not path[-1]:
            path = path[:-1]
        return cls(path, parse_qs(url.query, keep_blank_values=True), authorization, **more)


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to a request.

    Args:
        body: the complete body; or an iterator of chunks, sent as they arrive until the end or until the client is
            gone.
        headers: additional headers.
    """

    status: int
    content_type: str
    body: bytes | Iterator[bytes]
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a server, above which requests are refused.

    Args:
        connections: maximum of open connections. Above it, a connection without a request is closed for a new one.
        answers: maximum of responses that are computed at the same time. Further requests wait.
        streams: maximum of open streamed responses.
        seconds: time limit for a request to arrive, and the same again for its body.
    """

    connections: int = 1_000
    answers: int = 32
    streams: int = 100
    seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class Tls:
    """The certificate and key of a server, as PEM files."""

    certificate: Path
    key: Path


def json_answer(status: int, content: Mapping[str, Any], headers: Mapping[str, str] = NO_HEADERS) -> Answer:
    """Return a response with a JSON object."""
    body = json.dumps(content, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"
    return Answer(status, "application/json", body, headers)


def refusal(status: int, text: str) -> Answer:
    """Return the response to a request that is refused. The connection then ends."""
    return json_answer(status, {"error": text}, {"Connection": "close"})
