"""The same options give the same records, byte for byte; another seed or start gives others."""

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from itertools import islice

from forebay.producing.base import Options
from forebay.producing.sources import generate

OPTIONS = Options(count=3000, keys=200, seed=7, out_of_order=0.1, duplicates=0.05, malformed=0.05)
DIGEST = (
    "import sys; sys.path[:0] = sys.argv[1:]; from tests.producers.test_determinism import OPTIONS, digest; "
    "print(digest(OPTIONS))"
)


def digest(options: Options) -> str:
    return hashlib.sha256(repr(list(generate("user_activity", options))).encode()).hexdigest()


def test_generated_again_in_this_and_in_another_process() -> None:
    expected = digest(OPTIONS)
    assert digest(OPTIONS) == expected
    result = subprocess.run(
        [sys.executable, "-c", DIGEST, *filter(None, sys.path)],
        env=os.environ | {"PYTHONHASHSEED": "17"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.strip() == expected


def test_a_longer_run_begins_as_a_shorter_one() -> None:
    short = Options(count=500, keys=50)
    long = replace(short, count=900)
    assert list(islice(generate("user_activity", long), 500)) == list(generate("user_activity", short))


def test_another_seed_gives_other_records_and_ids() -> None:
    one = {event.value.event_id for event in generate("user_activity", Options(count=500, seed=1))}
    two = {event.value.event_id for event in generate("user_activity", Options(count=500, seed=2))}
    assert len(one) == len(two) == 500
    assert not one & two


def test_another_start_gives_other_ids_so_that_a_second_run_is_no_repetition() -> None:
    one = {event.value.event_id for event in generate("user_activity", Options(count=500, start_ms=1000))}
    two = {event.value.event_id for event in generate("user_activity", Options(count=500, start_ms=2000))}
    assert not one & two


def test_rate_changes_event_times_as_stated() -> None:
    events = list(generate("user_activity", Options(rate=4, count=9, start_ms=10_000)))
    assert [event.timestamp for event in events] == list(range(10_000, 12_001, 250))
