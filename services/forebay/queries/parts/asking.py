"""Pull and push queries of the stores of all parts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode

from forebay.codec import Codec
from forebay.http.messages import Answer
from forebay.queries.events import push_events
from forebay.queries.parts.pages import SILENT_SECONDS
from forebay.queries.parts.peer import PeerFailed, Stream
from forebay.queries.parts.pushes import MergedPush
from forebay.queries.parts.servers import PartServers
from forebay.queries.parts.stores import Caller, PartedStores, PartsMissing
from forebay.queries.parts.wire import check_begun
from forebay.queries.reads import reads_of
from forebay.queries.stores import JobStores, NotCurrent
from forebay.queries.subscription import End, Subscription

MISSING = "Forebay-Missing-Parts"
"""Header of a partial response: the numbers of the missing parts."""


class AllParts:
    """Provides the stores of all parts for requests.

    Args:
        codecs: codecs of the stores' records, by store.
    """

    def __init__(self, servers: PartServers, codecs: Mapping[str, Codec[Any]]) -> None:
        self._servers = servers
        self._codecs = codecs

    def stores(self, local: JobStores, caller: Caller) -> PartedStores:
        """Return the stores of all parts for one request. `local` are the stores of this part."""
        return PartedStores(local, self._servers, self._codecs, caller)

    def follow(
        self, local: JobStores, subscription: Subscription, snapshot: bool, caller: Caller, silent_seconds: float
    ) -> Answer:
        """Return the response to a push query of all parts. Raises UnknownStore, WrongQuery, PartsMissing."""
        declared, me = local.known(subscription.store), self._servers.identity.part
        reads_of(declared)
        given = {"store": subscription.store, **({} if subscription.key is None else {"key": subscription.key})}
        target = f"/part/changes?{urlencode(given | ({'rows': ''} if snapshot else {}))}"
        others = {} if declared.is_global else self._servers.peers
        opened = {part: peer.follow(target, caller.authorization, 2 * SILENT_SECONDS) for part, peer in others.items()}
        streams: dict[int, Stream] = {}
        missing: dict[int, str] = {}
        for part, future in opened.items():
            try:
                streams[part] = future.result()
            except PeerFailed as error:
                self._servers.count_failure(part)
                missing[part] = str(error)
        try:
            check_begun(local)
            local.check(subscription.store)
            mine = {me: push_events(local, subscription, snapshot, SILENT_SECONDS)}
        except NotCurrent as error:
            mine, missing[me] = {}, str(error)
        if missing and not (caller.takes_partial and (streams or mine)):
            for stream in streams.values():
                stream.end()
            raise PartsMissing(missing)
        push = MergedPush(
            streams, mine, missing, snapshot, caller.takes_partial, partial(subscription.close, End.RESTART)
        )
        return Answer(200, "text/event-stream", push.pieces(silent_seconds), missing_header(sorted(missing)))


def missing_header(parts: list[int] | tuple[int, ...]) -> dict[str, str]:
    """Return the header with the numbers of missing parts; {} if there are none."""
    return {MISSING: ",".join(map(str, parts))} if parts else {}
