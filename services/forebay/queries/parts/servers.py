"""The query servers of all parts: find the owner of a key, and send requests to several servers at once."""

from __future__ import annotations

import logging
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge

from forebay.partitioner import Partitioner
from forebay.queries.parts.peer import Peer, PeerFailed
from forebay.queries.parts.share import Identity, Share, WrongParts
from forebay.stores.spread import RecordKey

log = logging.getLogger(__name__)

T = TypeVar("T")

_LOOK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the servers of a job's parts.

    Args:
        peers: URLs of the servers of all parts in order, including this server.
        seconds: timeout of a request to another part.
        authority: CA certificates for https URLs, PEM; None: the system's.
    """

    share: Share
    peers: Sequence[str]
    seconds: float = 2.0
    authority: Path | None = None


class PartServers:
    """The other parts of a job's stores.

    Args:
        identity: identity of this server.
        record_keys: functions that return the record key of a store's key, by store.
        registry: registry of metrics.
    """

    def __init__(
        self,
        settings: Settings,
        identity: Identity,
        record_keys: Mapping[str, RecordKey],
        registry: CollectorRegistry,
    ) -> None:
        self.identity = identity
        self._seconds = settings.seconds
        self._record_keys = record_keys
        self._owners: dict[int, Partitioner] = {}
        is_tls = any(url.startswith("https:") for url in settings.peers)
        context = ssl.create_default_context(cafile=settings.authority) if is_tls else None
        self.peers = {
            part: Peer(url, replace(identity, part=part), settings.seconds, context)
            for part, url in enumerate(settings.peers)
            if part != identity.part
        }
        labels, service = ("service", "part"), identity.service
        self._forwarded = Counter("forebay_queries_forwarded", "Requests to other parts", labels, registry=registry)
        self._failed = Counter("forebay_queries_forward_failures", "Of these not answered", labels, registry=registry)
        self._answering = Gauge(
            "forebay_queries_parts_answering", "Parts, with this one", labels[:1], registry=registry
        )
        # Prometheus shows a counter only from its first use on, and a rate needs the zero before it.
        for part in self.peers:
            self._forwarded.labels(service, part)
            self._failed.labels(service, part)
        # Until they have answered once, no part counts as answering.
        self._silent = set(self.peers)
        self._tell_answering()

    @property
    def answering(self) -> int:
        """The number of parts that answered the last check, including this one."""
        return self.identity.parts - len(self._silent)

    def owner(self, store: str, key: str, tasks: int) -> int | None:
        """Return the part that holds a key; None if the key does not determine it.

        Args:
            tasks: number of the job's tasks.
        """
        try:
            record_key = self._record_keys[store](store, key)
        except Exception:  # the processor's code is called with a key that it may never have created
            return None
        # The store's key does not determine the task, for example if each task writes the store for itself.
        if record_key is None:
            return None
        partitioner = self._owners.setdefault(tasks, Partitioner(tasks, 10_000))
        return partitioner(record_key if isinstance(record_key, bytes) else record_key.encode()) % self.identity.parts

    def begin(self, parts: Iterable[int], path: str, body: bytes, authorization: str, longer: float = 0.0) -> Begun:
        """Send the same request to several parts. `longer`: seconds to add to the timeout."""
        asked = {}
        for part in parts:
            self._forwarded.labels(self.identity.service, part).inc()
            asked[part] = self.peers[part].ask(path, body, authorization, longer)
        return Begun(self, asked, time.monotonic() + self._seconds + longer)

    def count_failure(self, part: int) -> None:
        """Count a request that a part did not answer."""
        self._failed.labels(self.identity.service, part).inc()

    def check(self) -> None:
        """Raise WrongParts if a server is not the expected part. Servers that do not answer yet are checked later."""
        for wrong in self._look().values():
            raise WrongParts(
                f"{wrong}: check that --peers lists all parts in order, and that each server has its own --part"
            )

    def watch(self, stop: threading.Event) -> None:
        """Check the parts periodically until `stop` is set, and log changes."""
        logged: dict[int, str] = {}
        silent = set(self._silent)
        while not stop.wait(_LOOK_SECONDS):
            wrong = self._look()
            for part in wrong.keys() - logged.keys():
                log.error("part %d can't be queried: %s", part, wrong[part])
            for part in self._silent ^ silent:
                log.warning("part %d %s", part, "does not answer" if part in self._silent else "answers")
            logged, silent = wrong, set(self._silent)

    def close(self) -> None:
        """Close the connections to all parts."""
        for peer in self.peers.values():
            peer.close()

    def _look(self) -> dict[int, str]:
        wrong: dict[int, str] = {}
        for part, peer in self.peers.items():
            try:
                text = peer.look()
            except PeerFailed:
                self._silent.add(part)
                continue
            if text:
                wrong[part] = text
                self._silent.add(part)
            else:
                self._silent.discard(part)
        self._tell_answering()
        return wrong

    def _tell_answering(self) -> None:
        self._answering.labels(self.identity.service).set(self.answering)


@dataclass(frozen=True, slots=True)
class Begun:
    """Requests that wait for their responses.

    Args:
        deadline: monotonic time in seconds until which responses are accepted.
    """

    servers: PartServers
    asked: Mapping[int, Future[bytes]]
    deadline: float

    def answers(self, read: Callable[[bytes], T]) -> tuple[dict[int, T], dict[int, str]]:
        """Return the decoded responses by part, and the reasons of the parts that did not answer."""
        answers_by_part: dict[int, T] = {}
        missing: dict[int, str] = {}
        for part, future in self.asked.items():
            peer = self.servers.peers[part]
            try:
                answers_by_part[part] = read(peer.answer(future, self.deadline))
            except (PeerFailed, ValueError) as error:
                self.servers.count_failure(part)
                missing[part] = str(error)
        return answers_by_part, missing
