"""One part of a job's stores in its query server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry

from forebay.codec import Codec
from forebay.http.health import Health, verdict_answer
from forebay.http.messages import Answer, Request
from forebay.queries.parts.asking import AllParts
from forebay.queries.parts.pages import PartPages
from forebay.queries.parts.servers import PartServers, Settings
from forebay.queries.parts.share import Identity
from forebay.queries.stores import JobStores
from forebay.runtime.changelog.sub_topology_log import SubTopologyLog


class ServedPart:
    """The part that this query server holds, and its access to the other parts.

    Args:
        logs: changelogs of the job's sub-topologies.
        codecs: codecs of their stores' records, by store.
        stores: returns this part's current stores.
        registry: registry of metrics.
    """

    def __init__(
        self,
        settings: Settings,
        service: str,
        application: str,
        logs: Sequence[SubTopologyLog],
        codecs: Mapping[str, Codec[Any]],
        stores: Callable[[], JobStores],
        registry: CollectorRegistry,
    ) -> None:
        share = settings.share
        identity = Identity(service, application, share.part, share.parts)
        record_keys = {store.name: log.processor.record_key for log in logs for store in log.stores}
        self._share = share
        self._servers = PartServers(settings, identity, record_keys, registry)
        self._pages = PartPages(identity, stores)
        self.all = AllParts(self._servers, codecs)

    def tasks(self, of: int) -> range:
        """Return the tasks that this part holds, out of a number of tasks. Raises WrongParts if there are none."""
        return self._share.tasks(of)

    def check(self) -> None:
        """Raise WrongParts if another server is not the expected part."""
        self._servers.check()

    def begin(self, stop: threading.Event) -> None:
        """Check the other parts, now and periodically until `stop` is set. Raises WrongParts."""
        self.check()
        threading.Thread(target=self._servers.watch, args=(stop,), name="parts", daemon=True).start()

    def close(self) -> None:
        """Close the connections to the other parts."""
        self._servers.close()

    def open_page(self, request: Request, health: Health) -> Answer | None:
        """Return the response to /part, or to /readyz with the parts that answer; None for another path."""
        match request.path:
            case ("part",):
                return self._pages.identity()
            case ("readyz",):
                parts = {"answering": self._servers.answering, "of": self._share.parts}
                return verdict_answer(health.ready(), part=self._share.part, parts=parts)
        return None

    def answer(self, request: Request) -> Answer:
        """Return the response to another part's request."""
        return self._pages.answer(request)
