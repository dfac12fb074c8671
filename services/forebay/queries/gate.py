"""Authentication of a query server's clients by a token, or by name and password."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Collection
from pathlib import Path

from forebay.http.messages import Answer, Request, json_answer

_LEAST_BYTES = 16
_SCHEME, _BASIC = "Bearer", "Basic"
_LEAST_PASSWORD = 8
_TOKEN = "a token is required: send it as `Authorization: Bearer TOKEN`"


class NoToken(ValueError):
    """The token's file can't be read, or its content is not a valid token. The message contains the remedy."""


class Gate:
    """Refuses requests without an accepted token or login.

    Args:
        token: the token that requests must send.
        logins: `name:password` pairs that are accepted, too.
        tokens: tokens that are accepted, too. Without any of these arguments, all clients are accepted.
    """

    def __init__(
        self, token: bytes | None = None, logins: Collection[bytes] = (), tokens: Collection[bytes] = ()
    ) -> None:
        self._accepted = {
            _SCHEME.lower(): [*tokens] if token is None else [token, *tokens],
            _BASIC.lower(): [base64.b64encode(login) for login in logins],
        }

    def refusal(self, request: Request) -> Answer | None:
        """Return the 401 response for a client without access; None if the client has access."""
        if not any(self._accepted.values()):
            return None
        scheme, _, sent = request.authorization.partition(" ")
        # Compare with every accepted value in constant time, so that the response time reveals nothing.
        secret = sent.strip().encode()
        if sum(hmac.compare_digest(secret, password_hash) for password_hash in self._accepted.get(scheme.lower(), ())):
            return None
        wants_token = bool(self._accepted[_SCHEME.lower()])
        hint = _TOKEN if wants_token else "a login is required: send name and password (HTTP Basic)"
        return json_answer(401, {"error": hint}, {"WWW-Authenticate": _SCHEME if wants_token else _BASIC})


def read_logins(file: Path) -> tuple[bytes, ...]:
    """Return the logins of a file with one `name:password` per line. Raises NoToken."""
    try:
        lines = [line.strip() for line in file.read_bytes().splitlines()]
    except OSError as error:
        raise NoToken(f"{file} can't be read: {error.strerror}") from error
    logins = tuple(line for line in lines if line and not line.startswith(b"#"))
    for number, line in enumerate(lines, 1):
        name, mark, password = line.partition(b":")
        if line in logins and not (name and mark and len(password) >= _LEAST_PASSWORD):
            raise NoToken(f"{file}:{number}: write name:password; a password has at least {_LEAST_PASSWORD} bytes")
    if not logins:
        raise NoToken(f"{file} has no login: write one name:password per line")
    return logins


def read_token(file: Path) -> bytes:
    """Return the token of a file, without surrounding white space. Raises NoToken."""
    try:
        token = file.read_bytes().strip()
    except OSError as error:
        raise NoToken(f"{file} can't be read: {error.strerror}") from error
    if len(token) < _LEAST_BYTES:
        raise NoToken(f"{file} has {len(token)} bytes: a token has at least {_LEAST_BYTES}")
    if not token.isascii() or any(byte <= 0x20 for byte in token):
        raise NoToken(f"{file} holds more than one line or word: a token is one word of ASCII")
    return token
