"""A topology runs as stages of the engine: joins, windows, sessions, table aggregates, timers."""

from __future__ import annotations

from forebay.builder import Topology, job
from forebay.operators import Emission, Join
from tests.builder import menu
from tests.builder.driving import Run, Sent, values
from tests.builder.menu import Bill, Count, Order, Price, Region, Settings, Span, Total, Vote


def test_the_restaurants_bills() -> None:
    run = Run(job(Settings, menu.bills))
    assert run.pipe("prices", "curry", Price(8, 0)) == []
    assert run.pipe("orders", "curry", Order("1", "anna", 2, 1)) == [Sent("bills", "curry", Bill("anna", 16, 1), 1)]
    run.pipe("prices", "curry", Price(10, 4))
    run.restart()
    assert run.pipe("orders", "curry", Order("2", "bob", 1, 5)) == [Sent("bills", "curry", Bill("bob", 10, 5), 5)]
    assert run.pipe("orders", "curry", Order("3", "candace", 3, 3))[0].value == Bill("candace", 24, 3)
    assert run.pipe("orders", "curry", Order("4", "dan", 0, 6)) == []


def test_an_inner_join_gives_nothing_without_a_row_and_a_left_join_the_record_alone() -> None:
    assert Run(job(Settings, menu.bills)).pipe("orders", "soup", Order("1", "anna", 2, 1)) == []
    left = Run(job(Settings, menu.bills), Settings(join=Join.LEFT))
    assert left.pipe("orders", "soup", Order("1", "anna", 2, 1))[0].value == Bill("anna", None, 1)


def test_an_order_waits_for_a_late_price_and_comes_on_an_idle_topic() -> None:
    run = Run(job(Settings, menu.bills), Settings(grace_ms=100))
    run.pipe("prices", "curry", Price(8, 0))
    assert run.pipe("orders", "curry", Order("1", "anna", 2, 50)) == []
    run.pipe("prices", "curry", Price(9, 40))
    assert run.idle(50) == []
    run.restart()
    assert [s.value for s in run.idle(60_000)] == [Bill("anna", 18, 50)]


def test_an_order_whose_grace_is_over_when_it_comes_does_not_wait() -> None:
    run = Run(job(Settings, menu.bills), Settings(grace_ms=100))
    run.pipe("prices", "curry", Price(8, 0))
    run.pipe("orders", "curry", Order("1", "anna", 2, 10))
    assert run.pipe("prices", "soup", Price(1, 110)) == [], "the table's time lets nothing go"
    sent = run.pipe("orders", "soup", Order("3", "cas", 1, 110))
    assert [s.value for s in sent] == [Bill("anna", 16, 10)]
    assert [s.value for s in run.pipe("orders", "curry", Order("2", "bob", 1, 9))] == [Bill("bob", 8, 9)]


def test_a_price_beyond_the_history_is_late() -> None:
    run = Run(job(Settings, menu.bills), Settings(history_ms=10))
    run.pipe("prices", "curry", Price(8, 100))
    run.pipe("prices", "curry", Price(7, 90))
    run.pipe("prices", "curry", Price(6, 89))
    assert run.late == ["1"]


def spend(run: Run, *orders: tuple[str, int]) -> list[Sent]:
    return [s for customer, ts in orders for s in run.pipe("orders", "curry", Order("x", customer, 1, ts))]


def test_behind_a_rekey_state_is_kept_by_the_new_key_in_a_stage_of_its_own() -> None:
    made = job(Settings, menu.spending)
    assert [(stage.name, stage.record) for stage in made.then] == [("by-customer", Bill)]
    run = Run(made)
    run.pipe("prices", "curry", Price(8, 0))
    sent = spend(run, ("anna", 1), ("bob", 2), ("anna", 3))
    assert [(s.key, s.value) for s in sent if s.topic == "totals"] == [
        ("anna", Total(8)),
        ("bob", Total(8)),
        ("anna", Total(16)),
    ]
    assert [s.key for s in sent if s.topic == "bills"] == ["curry"] * 3


def test_finals_come_with_time_and_on_an_idle_topic_and_once() -> None:
    run = Run(job(Settings, menu.spending))
    run.pipe("prices", "curry", Price(8, 0))
    given = [[s for s in spend(run, ("anna", ts)) if s.topic in ("windows", "visits")] for ts in (1, 99, 110)]
    assert given == [
        [],
        [Sent("visits", "anna", Span(1, 1, 8), 1)],
        [Sent("windows", "anna", Span(0, 100, 16), 99)],
    ]
    run.restart()
    assert run.idle(50) == []
    assert [(s.topic, s.value) for s in run.idle(1)] == [("visits", Span(99, 110, 16))]
    assert run.idle(48) == []
    assert [(s.topic, s.value) for s in run.idle(1)] == [("windows", Span(100, 200, 8))]
    assert run.idle(1_000_000) == []


def test_a_quiet_minute_closes_no_window_that_goes_on() -> None:
    run = Run(job(Settings, menu.spending), Settings(emission=Emission.BOTH))
    run.pipe("prices", "curry", Price(8, 0))
    spend(run, ("anna", 1))
    run.idle(60)
    assert [s.value for s in spend(run, ("anna", 61)) if s.topic == "windows"] == [Span(0, 100, 16)]
    assert run.late == []


def test_a_record_whose_window_has_closed_is_late_there_and_counts_elsewhere() -> None:
    run = Run(job(Settings, menu.spending))
    run.pipe("prices", "curry", Price(8, 0))
    spend(run, ("anna", 110))
    sent = spend(run, ("bob", 5))
    assert [s.topic for s in sent] == ["bills", "totals"]
    assert run.late == ["55"]


def test_windows_give_updates_where_asked_for() -> None:
    run = Run(job(Settings, menu.spending), Settings(emission=Emission.BOTH))
    run.pipe("prices", "curry", Price(8, 0))
    sent = spend(run, ("anna", 1), ("anna", 2))
    assert [s.value for s in sent if s.topic == "windows"] == [Span(0, 100, 8), Span(0, 100, 16)]


def test_a_vote_that_changes_its_dish_leaves_one_count_and_enters_another() -> None:
    run = Run(job(Settings, menu.votes))
    assert list(values(run.pipe("votes", "anna", Vote("curry", 4)))) == [("curry", Count(1))]
    assert run.pipe("votes", "anna", Vote("pasta", 3)) == []
    run.restart()
    assert list(values(run.pipe("votes", "bob", Vote("curry", 5)))) == [("curry", Count(2))]
    assert list(values(run.pipe("votes", "anna", Vote("pasta", 6)))) == [("curry", Count(1)), ("pasta", Count(1))]
    assert list(values(run.pipe("votes", "anna", Vote("pasta", 7)))) == [("pasta", Count(1))]


def test_repetitions_are_dropped_before_counting() -> None:
    run = Run(job(Settings, menu.counted))
    sent = [run.pipe("votes", key, Vote("curry", ts)) for key, ts in (("a", 1), ("a", 1), ("b", 1), ("a", 2))]
    assert [[(s.topic, s.key, s.value) for s in each] for each in sent] == [
        [("counts", "a", Count(1)), ("totals", "a", Total(1))],
        [],
        [("counts", "b", Count(1)), ("totals", "b", Total(1))],
        [("counts", "a", Count(2)), ("totals", "a", Total(2))],
    ]


def regions(_: Settings) -> Topology:
    topology = Topology()
    dishes = topology.table("votes", Vote, store="votes")
    home = topology.table("regions", menu.Region, store="regions")
    joined = dishes.join(home, lambda v, r: Vote(f"{r.region}/{v.dish}", max(v.timestamp, r.timestamp)), Vote)
    joined.changes().to("joined")
    joined.group_by("by-dish", lambda _, vote: vote.dish, menu.VoteChange).count(Count, store="counts").to("counts")
    return topology


def test_two_tables_joined_follow_both() -> None:
    run = Run(job(Settings, regions))
    assert run.pipe("votes", "anna", Vote("curry", 4)) == []
    assert [(s.topic, s.key) for s in run.pipe("regions", "anna", Region("north", 2))] == [
        ("joined", "anna"),
        ("counts", "north/curry"),
    ]
    moved = run.pipe("regions", "anna", Region("south", 5))
    assert [(s.key, s.value) for s in moved if s.topic == "counts"] == [
        ("north/curry", Count(0)),
        ("south/curry", Count(1)),
    ]


def test_a_deleted_row_leaves_its_count_and_its_join() -> None:
    run = Run(job(Settings, regions))
    run.pipe("votes", "anna", Vote("curry", 4))
    run.pipe("regions", "anna", Region("north", 5))
    run.restart()
    assert run.delete("votes", "anna", 6) == [
        Sent("joined", "anna", None, 6),
        Sent("counts", "north/curry", Count(0), 6),
    ]
    assert [s for s in run.delete("votes", "anna", 7) if s.topic == "counts"] == []
    assert [s.key for s in run.pipe("votes", "anna", Vote("soup", 8))] == ["anna", "north/soup"]
    assert run.errors == []


def test_a_deleted_row_of_a_versioned_table_is_deleted_as_of_its_time() -> None:
    run = Run(job(Settings, menu.votes))
    run.pipe("votes", "anna", Vote("curry", 4))
    assert run.delete("votes", "anna", 3) == []
    assert list(values(run.delete("votes", "anna", 6))) == [("curry", Count(0))]
    assert run.pipe("votes", "anna", Vote("soup", 5)) == []
    run = Run(job(Settings, menu.bills))
    run.pipe("prices", "curry", Price(8, 0))
    run.delete("prices", "curry", 5)
    assert run.pipe("orders", "curry", Order("1", "anna", 2, 5)) == []
    assert run.pipe("orders", "curry", Order("2", "bob", 1, 4))[0].value == Bill("bob", 8, 4)


def test_a_stream_has_no_deletes() -> None:
    run = Run(job(Settings, menu.bills))
    assert run.delete("orders", "curry", 5) == []
    assert run.errors == ["the record's value is null"]


def unkeyed(_: Settings) -> Topology:
    topology = Topology()
    words = topology.stream("votes", Vote).flat_map(
        lambda _, v: [Region(w, v.timestamp) for w in v.dish.split()], Region
    )
    words.rekey("by-word", lambda _, word: word.region).filter(lambda key, _: key != "and").to("words")
    return topology


def test_a_rekey_that_no_state_follows_needs_no_stage() -> None:
    made = job(Settings, unkeyed)
    assert made.then == ()
    sent = Run(made).pipe("votes", "anna", Vote("rice and peas", 3))
    assert list(values(sent)) == [("rice", Region("rice", 3)), ("peas", Region("peas", 3))]


def test_a_reduction_keeps_the_streams_own_records() -> None:
    def latest(_: Settings) -> Topology:
        topology = Topology()
        stream = topology.stream("votes", Vote)
        stream.reduce(lambda one, two: two if two.timestamp >= one.timestamp else one, store="latest").to("latest")
        return topology

    run = Run(job(Settings, latest))
    sent = [run.pipe("votes", "a", Vote(dish, ts))[0].value for dish, ts in (("x", 5), ("y", 4), ("z", 6))]
    assert sent == [Vote("x", 5), Vote("x", 5), Vote("z", 6)]
