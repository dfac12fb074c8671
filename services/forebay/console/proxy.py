"""Queries of a job's stores, handed to its query server as they came."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException, HTTPResponse
from urllib.parse import quote, urlencode

from forebay.http.messages import Answer, Request

_SECONDS = 60.0
"""A query server that follows something says so every 15 seconds at least."""

_PIECE = 1 << 16
# Without the environment's HTTP proxy, which does not know addresses of this machine or cluster.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def handed_on(server: str, path: tuple[str, ...], request: Request) -> Answer:
    """Return what the query server at a URL answers to a path, with the request's parameters, body and token.

    What comes piece by piece is handed on so. 502: it does not answer.
    """
    url = f"{server}/{'/'.join(quote(part, safe='') for part in path)}"
    given = [(name, value) for name, values in request.parameters.items() for value in values]
    sent = urllib.request.Request(
        f"{url}?{urlencode(given)}" if given else url,
        data=request.body if request.method == "POST" else None,
        headers={"Authorization": request.authorization, "Accept": request.accept, "Content-Type": "application/json"},
        method=request.method,
    )
    try:
        answer: HTTPResponse = _DIRECT.open(sent, timeout=_SECONDS)
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.headers.get_content_type(), error.read())
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        said = f"the query server at {server} does not answer ({reason}): start it with `forebay queries SERVICE`"
        return Answer(502, "application/json", json.dumps({"error": said}).encode())
    kind = answer.headers.get("Content-Type", "application/json")
    # Only a stream has no length. It must be passed on piece by piece, because it may never end.
    if answer.headers.get("Content-Length") is not None:
        with answer:
            return Answer(answer.status, kind, answer.read())
    return Answer(answer.status, kind, _pieces(answer))


def _pieces(answer: HTTPResponse) -> Iterator[bytes]:
    with answer:
        try:
            while piece := answer.read1(_PIECE):
                yield piece
        except (OSError, HTTPException):
            return  # the query server went away: the reader sees the end, and begins again
