"""Responses of a part to other parts, from its own rows alone, so that nothing is forwarded twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

import msgspec

from forebay.codec import DecodeError, Unavailable
from forebay.http.messages import Answer, Request, json_answer
from forebay.queries.events import push_events
from forebay.queries.parts.share import Identity
from forebay.queries.parts.wire import CONTENT, Ask, Wait, check_begun, rows_of
from forebay.queries.reads import WrongQuery
from forebay.queries.stores import JobStores, UnknownStore
from forebay.queries.subscription import Subscription

SILENT_SECONDS = 2.0
"""Time after which a push query to another part sends a comment to show that it is alive, in seconds."""
_ASK = msgspec.msgpack.Decoder(Ask)
_WAIT = msgspec.msgpack.Decoder(Wait)


class PartPages:
    """Answers requests of other parts.

    Args:
        stores: returns this part's current stores.
    """

    def __init__(self, identity: Identity, stores: Callable[[], JobStores]) -> None:
        self._identity = identity
        self._stores = stores

    def identity(self) -> Answer:
        """Return the response with this server's identity. Like /healthz, it needs no token."""
        return json_answer(200, {**asdict(self._identity), "tasks": self._stores().tasks})

    def answer(self, request: Request) -> Answer:
        """Return the response to another part's request. Its status is 421 if the request is for another server."""
        if request.forwarded != self._identity.sent:
            return json_answer(
                421, {"error": f"this is {self._identity}: ask /stores, or forward to {request.forwarded!r}"}
            )
        try:
            match request.path:
                case ("part", "read"):
                    return _pack(rows_of(self._stores(), _ASK.decode(request.body)))
                case ("part", "wait"):
                    wait = _WAIT.decode(request.body)
                    return _pack(self._stores().await_offsets(wait.wanted, wait.seconds))
                case ("part", "changes"):
                    return self._follow(request)
            return json_answer(404, {"error": "parts ask each other for /part/read, /part/wait and /part/changes"})
        except UnknownStore as error:
            return json_answer(404, {"error": error.args[0]})
        except (WrongQuery, msgspec.MsgspecError) as error:
            return json_answer(400, {"error": str(error)})
        except (Unavailable, DecodeError) as error:
            return json_answer(503, {"error": str(error)})

    def _follow(self, request: Request) -> Answer:
        given = request.parameters
        stores, subscription = (
            self._stores(),
            Subscription(given["store"][0], given["key"][0] if "key" in given else None),
        )
        check_begun(stores)
        stores.check(subscription.store)
        return Answer(200, "text/event-stream", push_events(stores, subscription, "rows" in given, SILENT_SECONDS))


def _pack(content: object) -> Answer:
    return Answer(200, CONTENT, msgspec.msgpack.encode(content))
