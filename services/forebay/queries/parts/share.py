"""The tasks that a query server holds, and the check that servers belong together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SHARE = re.compile(r"(?:.*-)?(?P<part>\d+)/(?P<parts>\d+)")


class WrongParts(ValueError):
    """Parts that can't work together. The message contains the remedy."""


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a job's tasks: every task t with t % parts == part. Parts and tasks are numbered from 0."""

    part: int
    parts: int

    def __str__(self) -> str:
        return f"{self.part}/{self.parts}"

    def tasks(self, of: int) -> range:
        """Return the tasks of this part, out of a number of tasks. Raises WrongParts if there are none."""
        if self.part >= of:
            raise WrongParts(f"the job has {of} tasks: part {self} would hold none of them; use at most {of} parts")
        return range(self.part, of, self.parts)


@dataclass(frozen=True, slots=True)
class Identity:
    """A query server's identity, which it returns at /part."""

    service: str
    application: str
    part: int
    parts: int

    @property
    def sent(self) -> str:
        """The header value of requests that are forwarded to this server. Other servers refuse them."""
        return f"{self.application} {self.part}/{self.parts}"

    def __str__(self) -> str:
        return f"part {self.part}/{self.parts} of {self.service} (application {self.application})"


def share_of(text: str) -> Share:
    """Return the share of PART/PARTS. PART may be a pod name that ends with its number. Raises WrongParts."""
    match = _SHARE.fullmatch(text)
    if match is None:
        raise WrongParts(f"{text}: write PART/PARTS, such as 0/3, 1/3 and 2/3 for three servers")
    share = Share(int(match["part"]), int(match["parts"]))
    if share.part >= share.parts:
        raise WrongParts(f"{text}: of {share.parts} parts the first is 0 and the last {max(share.parts - 1, 0)}")
    return share


def check_peers(share: Share, peers: Sequence[str]) -> None:
    """Check that there is one valid URL for each part. Raises WrongParts."""
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
