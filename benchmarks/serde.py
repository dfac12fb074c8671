"""CPU time to encode and decode one record, compared with plain fastavro in the same run.

    python -m benchmarks.serde

Each result is the CPU time of this process for one record, in microseconds, as the smallest of several rounds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from io import BytesIO
from typing import Any

import fastavro

from forebay.records import FrozenMap, as_dict
from forebay.serde import AvroCodec, LocalSchemas, load_contract
from user_sessions import model

ROUNDS = 7
CALLS = 20_000

ACTIVITY = model.UserActivity(
    event_id="4f9a1c2e-7f0b-4a53-9a53-1b2c3d4e5f60",
    user_id="user-000123",
    action="page_view",
    session_id="user-000123-0007",
    duration_ms=12_345,
    timestamp=1_735_689_600_000,
    page="/products/42",
    browser="firefox",
    device_type="mobile",
    location=model.Location("NL", "Amsterdam"),
)
SESSION = model.Session("user-000123-0007", 1_735_689_600_000, 1_735_689_900_000, 12, 250_000)
PAGES = tuple(f"/products/{number}" for number in range(5))
PROFILE = model.UserProfile(
    current_session=SESSION,
    total_sessions=7,
    total_time_ms=1_250_000,
    actions_count=FrozenMap({"page_view": 120, "click": 80, "search": 14, "purchase": 2}),
    first_seen=1_735_600_000_000,
    last_activity=1_735_689_900_000,
    devices_used=("mobile", "desktop"),
    browsers_used=("firefox", "chrome"),
    countries_visited=("NL", "DE"),
    page_counts=FrozenMap({f"/products/{number}": number for number in range(30)}),
    most_visited_pages=PAGES,
)
STATS = model.UserSessionStats(
    stats_type="USER_SESSION_STATS",
    user_id="user-000123",
    current_session="user-000123-0007",
    session_ended=False,
    activity=model.Activity(
        "4f9a1c2e-7f0b-4a53-9a53-1b2c3d4e5f60", "page_view", "/products/42", 12_345, 1_735_689_600_000
    ),
    session_totals=model.SessionTotals(7, 1_250_000, 4, PROFILE.actions_count),
    user_profile=model.ProfileSummary(
        PROFILE.first_seen, PROFILE.last_activity, ("mobile", "desktop"), ("firefox",), ("NL", "DE"), 30, PAGES
    ),
    current_context=model.CurrentContext("mobile", "firefox", model.Location("NL", "Amsterdam")),
    ended_session=None,
)


def microseconds(call: Callable[[], object]) -> float:
    """Return the CPU time (µs) of a call, as the smallest of several rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(CALLS):
            call()
        best = min(best, time.process_time() - began)
    return best / CALLS * 1e6


def compare(record: Any) -> None:
    """Print the results of a record type."""
    name = type(record).__name__
    contract = load_contract("user-sessions", name)
    schemas = LocalSchemas()
    codec = AvroCodec(type(record), schemas.register(contract), schemas)
    data = codec.encode(record)
    body = data[5:]
    document = as_dict(record)
    parsed = fastavro.parse_schema(json.loads(contract.text))

    def write() -> bytes:
        buffer = BytesIO()
        fastavro.schemaless_writer(buffer, parsed, document)
        return buffer.getvalue()

    assert (codec.decode(data), write()) == (record, body)
    ours = microseconds(lambda: codec.encode(record)), microseconds(lambda: codec.decode(data))
    theirs = microseconds(write), microseconds(lambda: fastavro.schemaless_reader(BytesIO(body), parsed, None))
    for way, us, them in zip(("encode", "decode"), ours, theirs, strict=True):
        print(f"{name:18}{way:8}{len(data):6} bytes{us:8.2f} us   fastavro, dict only{them:8.2f} us{them / us:7.1f} x")


def main() -> None:
    """Run the benchmark for all record types."""
    for record in (ACTIVITY, STATS, PROFILE):
        compare(record)


if __name__ == "__main__":
    main()
