"""Generator of Nexmark's events: persons, auctions and bids in the ratio 1:3:46, in the order of their times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

FIRST_ID = 1_000
START_MS = 1_700_000_000_000
_ROUND = 50
_PERSONS, _AUCTIONS = 1, 3
_STATES = ("OR", "ID", "CA", "WY", "AZ", "WA")
_CITIES = ("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend")
_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
_LETTERS = "abcde"


@dataclass(frozen=True, slots=True)
class Event:
    """A person, an auction or a bid.

    Args:
        topic: `person`, `auction` or `bid`.
        row: Values by column.
        time: Event time in ms.
    """

    topic: str
    row: dict[str, Any]
    time: int


def events(number: int, seed: int = 1) -> Iterator[Event]:
    """Yield events. A bid refers to an earlier auction and person, and an auction to an earlier person."""
    random = Random(seed)
    persons, auctions, time = 0, 0, START_MS
    for at in range(number):
        place = at % _ROUND
        time += random.choice((1, 50, 100, 400))
        if place < _PERSONS:
            yield Event("person", _person(random, FIRST_ID + persons, time), time)
            persons += 1
        elif place < _PERSONS + _AUCTIONS:
            yield Event("auction", _auction(random, FIRST_ID + auctions, persons, time), time)
            auctions += 1
        else:
            yield Event("bid", _bid(random, at, persons, auctions, time), time)


def _person(random: Random, number: int, time: int) -> dict[str, Any]:
    return {
        "ID": number,
        "NAME": random.choice(_NAMES),
        "EMAIL": f"p{number}@example.com",
        "CITY": random.choice(_CITIES),
        "STATE": random.choice(_STATES),
        "DATETIME": time,
        "EXTRA": _extra(random),
    }


def _auction(random: Random, number: int, persons: int, time: int) -> dict[str, Any]:
    return {
        "ID": number,
        "ITEMNAME": f"item {number}",
        "INITIALBID": random.randrange(1, 1_000),
        "RESERVE": random.randrange(1_000, 9_000),
        "DATETIME": time,
        "EXPIRES": time + random.randrange(2_000, 30_000),
        "SELLER": FIRST_ID + random.randrange(max(0, persons - 5), persons),
        "CATEGORY": random.randrange(10, 15),
        "EXTRA": _extra(random),
    }


def _bid(random: Random, at: int, persons: int, auctions: int, time: int) -> dict[str, Any]:
    channel = random.choice((*_CHANNELS, f"channel-{random.randrange(20)}"))
    query = f"query=1&channel_id={random.randrange(1 << 20)}" if random.random() < 0.5 else "query=1"
    return {
        "AUCTION": FIRST_ID + random.randrange(max(0, auctions - 8), auctions),
        "BIDDER": FIRST_ID + random.randrange(max(0, persons - 10), persons),
        # All bids have different prices, so that the highest one is unique.
        "PRICE": int(10 ** (random.random() * 6 + 1)) * 1_000_000 + at,
        "CHANNEL": channel,
        "URL": f"https://www.nexmark.com/{_word(random)}/{_word(random)}/{_word(random)}/item.htm?{query}",
        "DATETIME": time,
        "EXTRA": _extra(random),
    }


def _extra(random: Random) -> str:
    return "".join(random.choice(_LETTERS) for _ in range(random.randrange(5, 20)))


def _word(random: Random) -> str:
    return "".join(random.choice(_LETTERS) for _ in range(3))
