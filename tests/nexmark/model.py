"""Nexmark's results, computed from all events at once and without the project's code."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

Row = dict[str, Any]
Result = list[Any] | dict[Any, Any]
"""Rows of a stream in any order, or the rows of a table by key."""
WINDOW_MS = 10_000
_SIDES = {number: f"side {number}" for number in range(10)}
_CHANNELS = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}


def expected_result(query: str, persons: Sequence[Row], auctions: Sequence[Row], bids: Sequence[Row]) -> Result:
    """Return the result of a query for these events."""
    return _MODELS[query](persons, auctions, bids)


def side_rows() -> dict[int, str]:
    """Return the bounded table of q13."""
    return dict(_SIDES)


def _pick(row: Row, *names: str) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def _euros(row: Row) -> Decimal:
    price: int = row["PRICE"]
    return Decimal("0.908") * price


def _time(row: Row) -> datetime:
    return datetime.fromtimestamp(row["DATETIME"] / 1_000, UTC)


def _day(row: Row) -> str:
    return f"{_time(row):%Y-%m-%d}"


def _minute(row: Row) -> str:
    return f"{_time(row):%H:%M}"


def _group(rows: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def _windows(row: Row, advance: int = WINDOW_MS) -> Iterator[tuple[int, int]]:
    """Yield start and end of each window that contains a row."""
    start = row["DATETIME"] // advance * advance
    while start > row["DATETIME"] - WINDOW_MS:
        yield start, start + WINDOW_MS
        start -= advance


def _in_windows(rows: Iterable[Row], key: Callable[[Row], Any], advance: int = WINDOW_MS) -> dict[Any, list[Row]]:
    """Return rows by key, start and end of the window."""
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        for start, end in _windows(row, advance):
            groups[key(row), start, end].append(row)
    return groups


def _winning(auctions: Sequence[Row], bids: Sequence[Row]) -> dict[int, Row]:
    """Return the highest valid bid of each auction, by id of the auction."""
    by_auction = _group(bids, lambda bid: bid["AUCTION"])
    result = {}
    for auction in auctions:
        valid = [
            bid for bid in by_auction[auction["ID"]] if auction["DATETIME"] <= bid["DATETIME"] <= auction["EXPIRES"]
        ]
        if valid:
            result[auction["ID"]] = max(valid, key=lambda bid: bid["PRICE"])
    return result


def _q3(persons: Sequence[Row], auctions: Sequence[Row], _bids: Sequence[Row]) -> Result:
    sellers = {person["ID"]: person for person in persons if person["STATE"] in ("OR", "ID", "CA")}
    return {
        auction["ID"]: _pick(sellers[auction["SELLER"]], "NAME", "CITY", "STATE")
        for auction in auctions
        if auction["CATEGORY"] == 10 and auction["SELLER"] in sellers
    }


def _q4(_persons: Sequence[Row], auctions: Sequence[Row], bids: Sequence[Row]) -> Result:
    categories = {auction["ID"]: auction["CATEGORY"] for auction in auctions}
    prices = defaultdict(list)
    for number, bid in _winning(auctions, bids).items():
        prices[categories[number]].append(bid["PRICE"])
    return {category: (sum(finals) / len(finals),) for category, finals in prices.items()}


def _q5(_persons: Sequence[Row], _auctions: Sequence[Row], bids: Sequence[Row]) -> Result:
    result = {}
    for key, rows in _in_windows(bids, lambda _: 1, 2_000).items():
        counts = Counter(str(row["AUCTION"]) for row in rows)
        most = max(counts.values())
        result[key] = most, tuple(sorted(number for number, count in counts.items() if count == most))
    return result


def _q6(_persons: Sequence[Row], auctions: Sequence[Row], bids: Sequence[Row]) -> Result:
    sellers = {auction["ID"]: auction["SELLER"] for auction in auctions}
    sold = defaultdict(list)
    for number, bid in sorted(_winning(auctions, bids).items(), key=lambda item: item[1]["DATETIME"]):
        sold[sellers[number]].append(bid["PRICE"])
    return {seller: (sum(prices[-10:]) / len(prices[-10:]),) for seller, prices in sold.items()}


def _q7(_persons: Sequence[Row], _auctions: Sequence[Row], bids: Sequence[Row]) -> Result:
    windows = _in_windows(bids, lambda _: 1)
    return {
        key: ((_pick(max(rows, key=lambda bid: bid["PRICE"]), "PRICE", "AUCTION", "BIDDER"),),)
        for key, rows in windows.items()
    }


def _q8(persons: Sequence[Row], auctions: Sequence[Row], _bids: Sequence[Row]) -> Result:
    sellers = _in_windows(auctions, lambda auction: auction["SELLER"])
    registered = _in_windows(persons, lambda person: person["ID"])
    return {key: (rows[-1]["NAME"],) for key, rows in registered.items() if key in sellers}


def _q9(_persons: Sequence[Row], auctions: Sequence[Row], bids: Sequence[Row]) -> Result:
    names = {auction["ID"]: auction["ITEMNAME"] for auction in auctions}
    return {
        number: (names[number], (_pick(bid, "PRICE", "BIDDER", "DATETIME"),))
        for number, bid in _winning(auctions, bids).items()
    }


def _q11(_persons: Sequence[Row], _auctions: Sequence[Row], bids: Sequence[Row]) -> Result:
    result = {}
    for bidder, rows in _group(bids, lambda bid: bid["BIDDER"]).items():
        sessions: list[list[int]] = []
        for row in rows:
            if sessions and row["DATETIME"] - sessions[-1][-1] <= 2_000:
                sessions[-1].append(row["DATETIME"])
            else:
                sessions.append([row["DATETIME"]])
        for times in sessions:
            result[bidder, times[0], times[-1]] = len(times), times[0], times[-1]
    return result


def _q12(_persons: Sequence[Row], _auctions: Sequence[Row], bids: Sequence[Row]) -> Result:
    # The processing time of a bid is its event time, because the test sends it with this time.
    return {key: (len(rows),) for key, rows in _in_windows(bids, lambda bid: bid["BIDDER"]).items()}


def _q14(_persons: Sequence[Row], _auctions: Sequence[Row], bids: Sequence[Row]) -> Result:
    result = []
    for bid in bids:
        hour = _time(bid).hour
        part = "dayTime" if 8 <= hour <= 18 else "nightTime" if hour <= 6 or hour >= 20 else "otherTime"
        if 1_000_000_000 < _euros(bid) < 50_000_000_000:
            row = bid["AUCTION"], bid["BIDDER"], _euros(bid), part, bid["DATETIME"], bid["EXTRA"]
            result.append((*row, bid["EXTRA"].count("c")))
    return result


def _ranks(rows: Sequence[Row]) -> tuple[int, int, int]:
    low = sum(row["PRICE"] < 10_000_000_000 for row in rows)
    high = sum(row["PRICE"] >= 1_000_000_000_000 for row in rows)
    return low, len(rows) - low - high, high


def _q15(_persons: Sequence[Row], _auctions: Sequence[Row], bids: Sequence[Row]) -> Result:
    return {
        day: (len(rows), *_ranks(rows), len({row["BIDDER"] for row in rows}), len({row["AUCTION"] for row in rows}))
        for day, rows in _group(bids, _day).items()
    }


def _q16(_persons: Sequence[Row], _auctions: Sequence[Row], bids: Sequence[Row]) -> Result:
    groups = _group(bids, lambda bid: (bid["CHANNEL"], _day(bid)))
    return {
        key: (max(map(_minute, rows)), len(rows), _ranks(rows)[0], len({row["BIDDER"] for row in rows}))
        for key, rows in groups.items()
    }


def _q17(_persons: Sequence[Row], _auctions: Sequence[Row], bids: Sequence[Row]) -> Result:
    result = {}
    for key, rows in _group(bids, lambda bid: (bid["AUCTION"], _day(bid))).items():
        prices = [row["PRICE"] for row in rows]
        result[key] = len(prices), min(prices), max(prices), sum(prices) / len(prices), sum(prices)
    return result


def _q18(_persons: Sequence[Row], _auctions: Sequence[Row], bids: Sequence[Row]) -> Result:
    return {(bid["BIDDER"], bid["AUCTION"]): _pick(bid, "PRICE", "CHANNEL", "DATETIME") for bid in bids}


def _q19(_persons: Sequence[Row], _auctions: Sequence[Row], bids: Sequence[Row]) -> Result:
    groups = _group(bids, lambda bid: bid["AUCTION"])
    return {key: (tuple(sorted((row["PRICE"] for row in rows), reverse=True)[:10]),) for key, rows in groups.items()}


def _q20(_persons: Sequence[Row], auctions: Sequence[Row], bids: Sequence[Row]) -> Result:
    wanted = {auction["ID"]: auction for auction in auctions if auction["CATEGORY"] == 10}
    return [
        (*_pick(bid, "AUCTION", "BIDDER", "PRICE"), *_pick(wanted[bid["AUCTION"]], "ITEMNAME", "SELLER"))
        for bid in bids
        if bid["AUCTION"] in wanted
    ]


def _q21(_persons: Sequence[Row], _auctions: Sequence[Row], bids: Sequence[Row]) -> Result:
    result = []
    for bid in bids:
        match = re.search(r"(?:&|^)channel_id=([^&]*)", bid["URL"])
        number = _CHANNELS.get(bid["CHANNEL"].lower()) or (match and match[1])
        if number is not None:
            result.append((*_pick(bid, "AUCTION", "BIDDER", "PRICE", "CHANNEL"), number))
    return result


_MODELS: dict[str, Callable[[Sequence[Row], Sequence[Row], Sequence[Row]], Result]] = {
    "q0": lambda _p, _a, bids: [_pick(bid, "AUCTION", "BIDDER", "PRICE", "DATETIME", "EXTRA") for bid in bids],
    "q1": lambda _p, _a, bids: [
        (bid["AUCTION"], bid["BIDDER"], _euros(bid), bid["DATETIME"], bid["EXTRA"]) for bid in bids
    ],
    "q2": lambda _p, _a, bids: [_pick(bid, "AUCTION", "PRICE") for bid in bids if bid["AUCTION"] % 7 == 0],
    "q3": _q3,
    "q4": _q4,
    "q5": _q5,
    "q6": _q6,
    "q7": _q7,
    "q8": _q8,
    "q9": _q9,
    "q10": lambda _p, _a, bids: [
        (*_pick(bid, "AUCTION", "BIDDER", "PRICE", "DATETIME", "EXTRA"), _day(bid), _minute(bid)) for bid in bids
    ],
    "q11": _q11,
    "q12": _q12,
    "q13": lambda _p, _a, bids: [
        (bid["AUCTION"] % 10, *_pick(bid, "AUCTION", "BIDDER", "PRICE"), _SIDES[bid["AUCTION"] % 10]) for bid in bids
    ],
    "q14": _q14,
    "q15": _q15,
    "q16": _q16,
    "q17": _q17,
    "q18": _q18,
    "q19": _q19,
    "q20": _q20,
    "q21": _q21,
    "q22": lambda _p, _a, bids: [
        (*_pick(bid, "AUCTION", "BIDDER", "PRICE", "CHANNEL"), *bid["URL"].split("/")[3:6]) for bid in bids
    ],
}
