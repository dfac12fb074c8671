"""Forwards queries of a job's stores to its query server."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException, HTTPResponse
from urllib.parse import quote, urlencode

from forebay.http.messages import Answer, Request

_SECONDS = 60.0
"""Timeout of a response. In a push query, a query server sends something at least every 15 seconds."""

_PIECE = 1 << 16
# Do not use the environment's HTTP proxy, which can't reach addresses of this machine or cluster.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def handed_on(server: str, path: tuple[str, ...], request: Request) -> Answer:
    """Forward a request to a path of the query server at a URL, with parameters, body and token. Return the response.

    Streamed responses are forwarded as a stream. The status is 502 if the server does not answer.
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
    # Only a stream has no length. It must be forwarded chunk by chunk, because it may never end.
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
            return  # the query server stopped: the client sees the end of the response, and retries
