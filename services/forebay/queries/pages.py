"""Queries over HTTP: JSON for pulls, server-sent events for pushes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from forebay.codec import DecodeError, Unavailable
from forebay.queries import parameters
from forebay.queries.reads import WrongQuery
from forebay.queries.stores import Found, JobStores, UnknownStore
from forebay.queries.subscription import Subscription
from forebay.runtime.http import Answer, Request
from forebay.stores.keys import join_key
from forebay.stores.scans import KeyOrderReads

_SILENT_SECONDS = 15.0
_HELP = "try /stores, /stores/STORE, /stores/STORE/KEY, /changes/STORE, /healthz, /readyz or /metrics"


class QueryPages:
    """Answers queries of a job's stores.

    Args:
        stores: gives them as they are now.
        silent_seconds: after which a push that has nothing to tell sends a comment, so that both sides notice a
            connection that is gone.
    """

    def __init__(self, stores: Callable[[], JobStores], silent_seconds: float = _SILENT_SECONDS) -> None:
        self._stores = stores
        self._silent_seconds = silent_seconds

    def answer(self, request: Request) -> Answer:
        """Answer a request; what is wrong with it, or with us, is told as `{"error": ...}`."""
        try:
            match request.path:
                case ("stores",):
                    return self._list(request)
                case ("stores", store):
                    return self._scan(store, request)
                case ("stores", store, *key):
                    return self._get(store, _joined(key), request)
                case ("changes", store, *key):
                    return self._follow(store, _joined(key) if key else None, request)
                case _:
                    return _json(404, {"error": _HELP})
        except UnknownStore as error:
            return _json(404, {"error": error.args[0]})
        except WrongQuery as error:
            return _json(400, {"error": str(error)})
        except (Unavailable, DecodeError) as error:
            return _json(503, {"error": str(error)})

    def _list(self, request: Request) -> Answer:
        parameters.check_names(request.parameters, ())
        stores = self._stores()
        shown = [
            {"store": name, "kind": store.kind, "record": store.value.__name__, "stage": stores.stage(name)}
            for name, store in stores.declared.items()
        ]
        return _json(200, {"stores": shown})

    def _get(self, store: str, key: str, request: Request) -> Answer:
        stores, limit = self._prepared(store, request)
        found = stores.get(store, key, parameters.bounds_of(request.parameters), limit)
        if not found.entries:
            return _json(404, {"error": f"store {store} has nothing under the key {key!r}", **_batches(found)})
        return _json(200, _shown(found))

    def _scan(self, store: str, request: Request) -> Answer:
        stores, limit = self._prepared(store, request)
        bounds = parameters.bounds_of(request.parameters)
        found = stores.scan(store, bounds, limit)
        page = _shown(found)
        if found.more and isinstance(stores.declared[store], KeyOrderReads) and not bounds.descending:
            page["next"] = found.entries[-1].key
        return _json(200, page)

    def _prepared(self, store: str, request: Request) -> tuple[JobStores, int]:
        given = request.parameters
        parameters.check_names(given, parameters.READ)
        limit = parameters.number(given, "limit", parameters.LIMIT, 1, parameters.MOST)
        wait_ms = parameters.number(given, "wait_ms", parameters.WAIT_MS, 0, parameters.LONGEST_WAIT_MS)
        stores = self._stores()
        stores.wait_for(store, parameters.reached(given), wait_ms / 1000)
        return stores, limit

    def _follow(self, store: str, key: str | None, request: Request) -> Answer:
        parameters.check_names(request.parameters, ("begin",))
        snapshot = parameters.choice(request.parameters, "begin", ("now", "snapshot")) == "snapshot"
        stores = self._stores()
        stores.check(store)
        return Answer(200, "text/event-stream", self._events(stores, Subscription(store, key), snapshot))

    def _events(self, stores: JobStores, subscription: Subscription, snapshot: bool) -> Iterator[bytes]:
        try:
            rows = stores.subscribe(subscription, snapshot)
            yield from (_event("row", change.shown()) for change in rows)
            yield _event("now", {"rows": len(rows)}) if snapshot else b": following\n\n"
            for changes in subscription.changes(self._silent_seconds):
                yield b"".join(_event("change", change.shown()) for change in changes) or b": nothing new\n\n"
            assert subscription.end is not None
            yield _event("end", {"reason": subscription.end.value})
        finally:
            stores.unsubscribe(subscription)


def _joined(parts: list[str]) -> str:
    """Return the key of a path: several parts are a key of several fields (`forebay.stores.keys.join_key`)."""
    return parts[0] if len(parts) == 1 else join_key(*parts)


def _shown(found: Found) -> dict[str, Any]:
    return {"entries": [entry.shown() for entry in found.entries], **_batches(found), "more": found.more}


def _batches(found: Found) -> dict[str, Any]:
    return {"batches": found.batches}


def _json(status: int, content: dict[str, Any]) -> Answer:
    return Answer(status, "application/json", json.dumps(content, ensure_ascii=False).encode() + b"\n")


def _event(name: str, content: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(content, ensure_ascii=False)}\n\n".encode()
