"""Queries over HTTP: JSON for pull queries, server-sent events for push queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forebay.codec import DecodeError, Unavailable
from forebay.http.messages import Answer, Request, json_answer
from forebay.queries import parameters
from forebay.queries.events import push_events
from forebay.queries.key_texts import row_text_of, shown_entry, typed_bounds, url_text
from forebay.queries.parts.asking import AllParts, missing_header
from forebay.queries.parts.stores import Caller, PartedStores, PartsMissing
from forebay.queries.reads import WrongQuery
from forebay.queries.stores import Found, JobStores, UnknownStore
from forebay.queries.subscription import Subscription
from forebay.stores.binding import Store
from forebay.stores.keys import join_key
from forebay.stores.scans import KeyOrderReads

_SILENT_SECONDS = 15.0
_HELP = "try /stores, /stores/STORE, /stores/STORE/KEY, /changes/STORE, /healthz, /readyz or /metrics"


class QueryPages:
    """Answers queries of a job's stores.

    Args:
        stores: returns the current stores.
        silent_seconds: time after which a push query without changes sends a comment, so that both sides notice a
            lost connection.
        parts: the stores of all parts, if `stores` are those of one part.
    """

    def __init__(
        self,
        stores: Callable[[], JobStores],
        silent_seconds: float = _SILENT_SECONDS,
        parts: AllParts | None = None,
    ) -> None:
        self._stores = stores
        self._silent_seconds = silent_seconds
        self._parts = parts

    def answer(self, request: Request) -> Answer:
        """Return the response to a request. Errors of the request or the server are returned as `{"error": ...}`."""
        try:
            match request.path:
                case ("stores",):
                    return self._list(request)
                case ("stores", store):
                    return self._scan(store, request)
                case ("stores", store, *key):
                    return self._get(store, _join(key), request)
                case ("changes", store, *key):
                    return self._follow(store, _join(key) if key else None, request)
                case _:
                    return _json(404, {"error": _HELP})
        except UnknownStore as error:
            return _json(404, {"error": error.args[0]})
        except WrongQuery as error:
            return _json(400, {"error": str(error)})
        except PartsMissing as error:
            return _json(503, {"error": str(error), "missing": error.missing}, error.missing)
        except (Unavailable, DecodeError) as error:
            return _json(503, {"error": str(error)})

    def _list(self, request: Request) -> Answer:
        parameters.check_names(request.parameters, ())
        stores = self._stores()
        shown = [
            {"store": name, "kind": store.kind, "record": store.value.__name__, "stage": stores.sub_topology(name)}
            | ({} if store.key_format is None else {"key": str(store.key_format)})
            for name, store in stores.declared.items()
        ]
        return _json(200, {"stores": shown})

    def _get(self, store: str, key: str, request: Request) -> Answer:
        stores, limit = self._prepare(store, request)
        declared = self._stores().known(store)
        result = stores.get(store, row_text_of(declared, key), parameters.bounds_of(request.parameters), limit)
        missing = _missing(stores)
        # A missing part may hold the key, so the answer can't be 404.
        if not result.entries and not missing:
            return _json(404, {"error": f"store {store} has nothing under the key {key!r}", **_batches(result)})
        return _json(200, _show(declared, result, missing), missing)

    def _scan(self, store: str, request: Request) -> Answer:
        stores, limit = self._prepare(store, request)
        declared = self._stores().known(store)
        bounds = typed_bounds(declared, parameters.bounds_of(request.parameters))
        result = stores.scan(store, bounds, limit)
        missing = _missing(stores)
        page = _show(declared, result, missing)
        if result.more and isinstance(stores.declared[store], KeyOrderReads) and not bounds.descending:
            page["next"] = url_text(declared, result.entries[-1].key)
        return _json(200, page, missing)

    def _prepare(self, store: str, request: Request) -> tuple[JobStores | PartedStores, int]:
        given = request.parameters
        parameters.check_names(given, parameters.READ)
        limit = parameters.number(given, "limit", parameters.LIMIT, 1, parameters.MOST)
        wait_ms = parameters.number(given, "wait_ms", parameters.WAIT_MS, 0, parameters.LONGEST_WAIT_MS)
        caller, stores = _caller(request), self._stores()
        source = stores if self._parts is None else self._parts.stores(stores, caller)
        source.wait_for(store, parameters.read_reached(given), wait_ms / 1000)
        return source, limit

    def _follow(self, store: str, key: str | None, request: Request) -> Answer:
        parameters.check_names(request.parameters, parameters.FOLLOW)
        snapshot = parameters.choice(request.parameters, "begin", ("now", "snapshot")) == "snapshot"
        caller, stores = _caller(request), self._stores()
        declared = stores.known(store)
        subscription = Subscription(store, None if key is None else row_text_of(declared, key))
        if self._parts is not None:
            return self._parts.follow(stores, subscription, snapshot, caller, self._silent_seconds)
        stores.check(store)
        return Answer(200, "text/event-stream", push_events(stores, subscription, snapshot, self._silent_seconds))


def _caller(request: Request) -> Caller:
    return Caller(request.authorization, parameters.choice(request.parameters, "partial", ("false", "true")) == "true")


def _missing(stores: JobStores | PartedStores) -> tuple[int, ...]:
    return stores.missing if isinstance(stores, PartedStores) else ()


def _join(parts: list[str]) -> str:
    """Return the key of a path, whose parts are the fields of the key (`forebay.stores.keys.join_key`)."""
    return parts[0] if len(parts) == 1 else join_key(*parts)


def _show(store: Store[Any], result: Found, missing: tuple[int, ...]) -> dict[str, Any]:
    shown = {
        "entries": [shown_entry(store, entry) for entry in result.entries],
        **_batches(result),
        "more": result.more,
    }
    return shown | ({"missing": missing} if missing else {})


def _batches(result: Found) -> dict[str, Any]:
    return {"batches": result.batches}


def _json(status: int, content: dict[str, Any], missing: tuple[int, ...] = ()) -> Answer:
    return json_answer(status, content, missing_header(missing))
