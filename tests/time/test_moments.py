"""A moment is read the same everywhere, regardless of the zone of the machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from forebay.queries.parameters import bounds_of
from forebay.time.moments import parse_moment


@pytest.fixture(params=["UTC", "America/New_York", "Asia/Kolkata"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1700000000000", 1_700_000_000_000),
        ("2024-01-31T12:00:00", 1_706_702_400_000),
        ("2024-01-31T12:00:00Z", 1_706_702_400_000),
        ("2024-01-31T13:00:00+01:00", 1_706_702_400_000),
        ("2024-01-31", 1_706_659_200_000),
    ],
)
def test_a_time_without_a_zone_is_in_utc(text: str, expected: int) -> None:
    assert parse_moment(text) == expected


@pytest.mark.parametrize("text", ["", "noon", "-5", "2024-13-01"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_moment(text)


def test_a_moment_is_its_exact_millisecond() -> None:
    # As a float, 1.001 s times 1000 is 1000.9999999999999.
    for ms in (1_001, 1_092_455_255_955, 17_505_716_960_045):
        text = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)).isoformat()
        assert parse_moment(text) == ms
        assert bounds_of({"since": [text]}).time_from == ms
