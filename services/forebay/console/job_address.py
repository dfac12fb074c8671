"""A job that the console watches, and requests to its pages."""

from __future__ import annotations

import urllib.error
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from urllib.parse import urlsplit

from forebay.catalog import Service

_SECONDS = 3.0
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""An opener without a proxy, because jobs run on the same machine or in the same cluster."""


@dataclass(frozen=True, slots=True)
class WatchedJob:
    """A job that the console watches.

    Args:
        application: its application id.
        page: URL of its /metrics and /readyz; "": its tasks' reports are read from the broker instead.
        queries: URL of the query server of its stores; "": none is specified.
    """

    service: Service
    application: str
    page: str = ""
    queries: str = ""

    @property
    def name(self) -> str:
        """The service's name."""
        return self.service.name


class WrongAddress(ValueError):
    """An address is not an http URL. The message contains the remedy."""


def checked_url(url: str) -> str:
    """Return a page's URL without a slash at its end. Raises WrongAddress."""
    parts = urlsplit(url)
    try:
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError:
        port_is_fine = False
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_fine or parts.query:
        raise WrongAddress(f"{url!r} is not a URL: write http://HOST:PORT, such as http://127.0.0.1:8080")
    return url.rstrip("/")


class NoAnswer(Exception):
    """A page does not answer. The message contains the reason."""


def page(url: str, token: str = "") -> tuple[int, str]:
    """Return a page's status and text, with a timeout of three seconds. Raises NoAnswer."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        try:
            with _DIRECT.open(request, timeout=_SECONDS) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode(errors="replace")
    except (OSError, ValueError, HTTPException) as error:  # HTTPException: another protocol, or the body was cut off
        reason = getattr(error, "reason", error)
        raise NoAnswer(getattr(reason, "strerror", None) or str(reason)) from error
