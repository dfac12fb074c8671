"""Reads a job's state and statistics over HTTP."""

from __future__ import annotations

import http.client
import json

from forebay.demo.figures import Figures, read_figures
from forebay.demo.samples import Samples
from forebay.http.health import Verdict
from forebay.platform.ports import HOST

_TIMEOUT_S = 2.0
_STARTING = Verdict(False, "starting")


class JobProbe:
    """Reads /metrics and /readyz of a service's job on this machine.

    Args:
        pages: prefix of both paths, if the process has several jobs.
    """

    def __init__(self, service: str, port: int, pages: str = "") -> None:
        self._service = service
        self._pages = pages
        self.port = port

    def state(self) -> Verdict:
        """Return the verdict of /readyz. A job that does not answer counts as starting."""
        page = self._get("/readyz")
        if page is None:
            return _STARTING
        answer = json.loads(page)
        return Verdict(bool(answer["ok"]), str(answer["reason"]))

    def figures(self) -> Figures | None:
        """Return the job's statistics; None while it does not answer or nothing is committed."""
        page = self._get("/metrics")
        if page is None:
            return None
        figures = read_figures(Samples(page), self._service)
        return figures if figures.commits else None

    def _get(self, path: str) -> str | None:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=_TIMEOUT_S)
        try:
            connection.request("GET", self._pages + path)
            return connection.getresponse().read().decode()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()
