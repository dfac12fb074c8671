"""The statistics contain the five most visited pages, in order of their counts."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.user_sessions.harness import driver, pipe, profile
from user_sessions.settings import UserSessionsSettings


def visit(pages: list[str], limit: int = 100) -> tuple[str, ...]:
    task = driver(UserSessionsSettings(list_limit=limit))
    for at, page in enumerate(pages):
        stats = pipe(task, at, page=page)
        counts = profile(task).page_counts
        assert stats.user_profile.most_visited_pages == tuple(sorted(counts, key=lambda p: (-counts[p], p))[:5])
        assert stats.user_profile.pages_visited == len(counts)
    return stats.user_profile.most_visited_pages


def test_the_most_visited_come_first_not_the_last_seen() -> None:
    assert visit(["a", "b", "b", "c", "c", "c", "d", "e", "e", "f", "f"]) == ("c", "b", "e", "f", "a")


def test_equal_counts_are_in_order_of_name() -> None:
    assert visit(["f", "e", "d", "c", "b", "a"]) == ("a", "b", "c", "d", "e")


def test_fewer_than_five_pages() -> None:
    assert visit(["b", "a", "b"]) == ("b", "a")


@settings(deadline=None)
@given(st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=40), st.integers(1, 9))
def test_equals_a_full_sort_after_every_event(pages: list[str], limit: int) -> None:
    visit(pages, limit)
