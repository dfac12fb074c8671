"""Who may query: whoever sends the token, where one is asked for."""

from __future__ import annotations

import hmac
import json
from pathlib import Path

from forebay.runtime.http import Answer, Request

_LEAST_BYTES = 16
_SCHEME = "Bearer"


class NoToken(ValueError):
    """The token's file can't be read, or can't be a token; the message says what to do."""


class Gate:
    """Refuses requests without the token.

    Args:
        token: what is asked for; None lets everybody in.
    """

    def __init__(self, token: bytes | None = None) -> None:
        self._token = token

    def refused(self, request: Request) -> Answer | None:
        """Return the answer to who must stay out, None to who may come in."""
        if self._token is None:
            return None
        scheme, _, token = request.authorization.partition(" ")
        # Compared in the same time wherever they differ.
        if scheme.lower() == _SCHEME.lower() and hmac.compare_digest(token.strip().encode(), self._token):
            return None
        said = {"error": "a token is asked for: send it as `Authorization: Bearer TOKEN`"}
        body = json.dumps(said).encode() + b"\n"
        return Answer(401, "application/json", body, {"WWW-Authenticate": _SCHEME})


def read_token(file: Path) -> bytes:
    """Return a file's token, without white space around it. Raises NoToken."""
    try:
        token = file.read_bytes().strip()
    except OSError as error:
        raise NoToken(f"{file} can't be read: {error.strerror}") from error
    if len(token) < _LEAST_BYTES:
        raise NoToken(f"{file} has {len(token)} bytes: a token has {_LEAST_BYTES} at least")
    if not token.isascii() or any(byte <= 0x20 for byte in token):
        raise NoToken(f"{file} holds more than one line or word: a token is one word of ASCII")
    return token
