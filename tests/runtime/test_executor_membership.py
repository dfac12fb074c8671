"""When a driver stops waiting for executors, and when it redistributes its tasks among them."""

from __future__ import annotations

from forebay.runtime.kubernetes.members import Membership


def among(*names: str) -> frozenset[str]:
    return frozenset(names)


def test_a_membership_without_executors_is_never_complete() -> None:
    assert not Membership().complete(among(), 0, 1e6)


def test_a_membership_with_all_wanted_executors_is_complete_at_once() -> None:
    assert Membership().complete(among("1", "2"), 2, 0.0)


def test_a_membership_with_too_few_executors_is_complete_after_a_while_without_change() -> None:
    membership = Membership()
    assert not membership.complete(among("1"), 3, 0.0)
    assert not membership.complete(among("1", "2"), 3, 19.0)
    assert not membership.complete(among("1", "2"), 3, 38.0)
    assert membership.complete(among("1", "2"), 3, 39.0)


def test_if_the_wanted_number_is_unknown_three_quiet_seconds_count() -> None:
    membership = Membership()
    assert not membership.complete(among("1"), None, 0.0)
    assert membership.complete(among("1"), None, 3.0)


def test_a_query_is_outgrown_once_new_executors_have_settled() -> None:
    membership = Membership()
    membership.use(among("1"))
    assert not membership.outgrown(among("1"), 1, 0.0)
    assert not membership.outgrown(among("1", "2"), 3, 10.0)
    assert not membership.outgrown(among("1", "2", "3"), 3, 11.0)
    assert membership.outgrown(among("1", "2", "3"), 3, 14.0)


def test_a_query_is_not_outgrown_if_executors_leave() -> None:
    membership = Membership()
    membership.use(among("1", "2", "3"))
    assert not membership.outgrown(among("2"), 1, 0.0)
    assert not membership.outgrown(among("2"), 1, 100.0)


def test_a_replacement_of_all_executors_has_all_tasks_anyway() -> None:
    membership = Membership()
    membership.use(among("1"))
    assert not membership.outgrown(among(), 1, 0.0)
    assert not membership.outgrown(among("2"), 1, 5.0)
    assert not membership.outgrown(among("2"), 1, 100.0)


def test_a_replacement_of_one_of_two_is_used() -> None:
    membership = Membership()
    membership.use(among("1", "2"))
    assert not membership.outgrown(among("1", "3"), 2, 0.0)
    assert membership.outgrown(among("1", "3"), 2, 3.0)


def test_fewer_wanted_executors_redistribute_the_tasks_once_after_a_while() -> None:
    membership = Membership()
    assert not membership.shrunk(3, 0.0)
    assert not membership.shrunk(1, 1.0)
    assert not membership.shrunk(None, 2.0)
    assert membership.shrunk(1, 4.0)
    assert not membership.shrunk(1, 5.0)
    assert not membership.shrunk(2, 6.0)
    assert not membership.shrunk(2, 20.0)
