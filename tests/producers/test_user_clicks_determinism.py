"""The same options give the same clicks, byte for byte; another seed or start gives others."""

from dataclasses import replace
from itertools import islice

from forebay.producing.base import Options
from forebay.producing.sources import generate

OPTIONS = Options(count=2000, keys=100, seed=7, out_of_order=0.1, duplicates=0.05, malformed=0.05)


def test_generated_again() -> None:
    assert list(generate("user_clicks", OPTIONS)) == list(generate("user_clicks", OPTIONS))


def test_a_longer_run_begins_as_a_shorter_one() -> None:
    short = Options(count=500, keys=50)
    assert list(islice(generate("user_clicks", replace(short, count=900)), 500)) == list(generate("user_clicks", short))


def test_another_seed_or_start_gives_other_clicks_and_ids() -> None:
    ids = [
        {event.value.click_id for event in generate("user_clicks", options)}
        for options in (OPTIONS, replace(OPTIONS, seed=8), replace(OPTIONS, start_ms=5))
    ]
    assert not ids[0] & ids[1]
    assert not ids[0] & ids[2]
