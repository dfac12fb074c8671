"""A client that goes away in the middle is nothing to print a traceback for; a mistake of ours is."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler

import pytest

from forebay.runtime.http import _Server


@pytest.mark.parametrize(
    ("error", "is_printed"), [(ConnectionResetError("gone"), False), (TimeoutError(), False), (KeyError("ours"), True)]
)
def test_only_what_is_ours_is_printed(error: Exception, is_printed: bool, capsys: pytest.CaptureFixture[str]) -> None:
    with _Server(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        try:
            raise error
        except Exception:
            server.handle_error(None, ("127.0.0.1", 1))
    assert ("Traceback" in capsys.readouterr().err) is is_printed
