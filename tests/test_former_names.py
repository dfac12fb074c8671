"""Names of release 0.2 that services and their tests import remain available for one more release."""

from __future__ import annotations

from forebay import bounded


def test_functions_of_bounded_have_their_former_names() -> None:
    assert bounded.appended is bounded.append_bounded
    assert bounded.counted is bounded.count_bounded
    assert bounded.ranked is bounded.rank_top
