"""Which tasks a query server holds, and whether another one belongs to the same set of servers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SHARE = re.compile(r"(?:.*-)?(?P<part>\d+)/(?P<parts>\d+)")


class WrongParts(ValueError):
    """Parts that can't work together; the message says which, and what to do."""


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a job's tasks: every task t with t % parts == part. Both begin with 0, as tasks do."""

    part: int
    parts: int

    def __str__(self) -> str:
        return f"{self.part}/{self.parts}"

    def tasks(self, of: int) -> range:
        """Return those it has of so many tasks. Raises WrongParts: none."""
        if self.part >= of:
            raise WrongParts(f"the job has {of} tasks: part {self} would hold none of them; use at most {of} parts")
        return range(self.part, of, self.parts)


@dataclass(frozen=True, slots=True)
class Identity:
    """A query server's identity, as it shows at /part."""

    service: str
    application: str
    part: int
    parts: int

    @property
    def sent(self) -> str:
        """What a forwarded request is for: it is answered by no other server, and by this one from its own rows."""
        return f"{self.application} {self.part}/{self.parts}"

    def __str__(self) -> str:
        return f"part {self.part}/{self.parts} of {self.service} (application {self.application})"


def share_of(text: str) -> Share:
    """Return what PART/PARTS says; PART may be a pod's name that ends with its number. Raises WrongParts."""
    match = _SHARE.fullmatch(text)
    if match is None:
        raise WrongParts(f"{text}: write PART/PARTS, such as 0/3, 1/3 and 2/3 for three servers")
    share = Share(int(match["part"]), int(match["parts"]))
    if share.part >= share.parts:
        raise WrongParts(f"{text}: of {share.parts} parts the first is 0 and the last {max(share.parts - 1, 0)}")
    return share


def check_peers(share: Share, peers: Sequence[str]) -> None:
    """Refuse addresses that can't be those of all parts. Raises WrongParts."""
    if len(peers) != share.parts:
        raise WrongParts(
            f"{len(peers)} addresses for {share.parts} parts: list the addresses of "
            "all parts in order, including this server's"
        )
    twice = sorted({peer for peer in peers if peers.count(peer) > 1})
    if twice:
        raise WrongParts(f"{', '.join(twice)} is listed twice: each part needs its own server")
    for peer in peers:
        if not re.fullmatch(r"https?://[^/?#\s]+/?", peer):
            raise WrongParts(f"{peer}: write http://HOST:PORT")
