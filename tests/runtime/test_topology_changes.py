"""An edited topology continues from its state, because topics and stores are identified by name, not by position."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from forebay.builder import Stream, Topology, job
from forebay.builder.notebook_view import NoSettings
from forebay.job import Job, SubTopology
from forebay.processor.messages import Headers
from forebay.processor.repartition_headers import SENDER
from forebay.runtime.errors import StateConflict
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.protocol.position import SenderTime, TaskPosition
from forebay.runtime.task.moves import plan_moves
from forebay.runtime.task.places import Move, Wanted, Written
from forebay.runtime.task.reads import refuse_unknown, task_input
from forebay.stores.event_ids import id_rows
from forebay.testing import TestDriver
from forebay.testing.shown import PipedRecord
from tests.states import state_of

TOPICS = ("a", "b", "c")


class Program:
    """Statements over a few topics: `n-a` counts topic a by its key, `by0-a` by the first letter of its values."""

    def __init__(self) -> None:
        self.topology = Topology()
        self._streams: dict[str, Stream[str, str]] = {}

    def add(self, name: str) -> None:
        what, _, topic = name.partition("-")
        if topic not in self._streams:
            self._streams[topic] = self.topology.stream(topic, str)
        stream = self._streams[topic]
        grouped = stream.group_by_key() if what == "n" else stream.group_by(lambda _, value: value[int(what[2])], str)
        grouped.count(store=name).to_stream().map_values(lambda _, count: str(count), str).to(f"{name}-out")


def job_of(names: Sequence[str]) -> Job:
    def build(_: object) -> Topology:
        program = Program()
        for name in names:
            program.add(name)
        return program.topology

    return job(NoSettings, build)


STATEMENTS = ("n-a", "n-b", "by0-a", "by1-a", "by0-b", "by0-c")


def continue_with(names: Sequence[str], before: TestDriver | None, tasks: int) -> TestDriver:
    """Return a driver of these statements that continues from the state of another driver."""
    driver = TestDriver(job_of(names), tasks=tasks)
    if before is not None:
        driver.restore(state_of(before))
    return driver


def count_groups(name: str, values: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Return the counts that a statement must have after these (key, value) records of its topic."""
    counts: dict[str, int] = {}
    for key, value in values:
        group = key if name.startswith("n-") else value[int(name[2])]
        counts[group] = counts.get(group, 0) + 1
    return counts


@pytest.mark.parametrize("seed", [*range(10), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(10, 40))])
def test_statements_that_are_reordered_added_and_removed_keep_their_state(seed: int) -> None:
    rng = random.Random(seed)
    tasks = rng.randint(1, 3)
    names = rng.sample(STATEMENTS, rng.randint(1, 5))
    sent: dict[str, list[tuple[str, str]]] = {name: [] for name in names}
    driver = continue_with(names, None, tasks)
    for _ in range(4):
        topics = sorted({name[-1] for name in names})
        for at in range(rng.randint(1, 6)):
            topic, key = rng.choice(topics), rng.choice("xyz")
            value = rng.choice("pq") + rng.choice("rs")
            driver.pipe(key, value, topic, timestamp=at)
            for name in names:
                if name[-1] == topic:
                    sent[name].append((key, value))
        for name in names:
            held = {key: row.value for key, row in driver.store(name).items()}
            assert held == count_groups(name, sent[name]), names
        # Statements that were removed are not added again, because the test driver's topics do not keep their records.
        kept_names = [name for name in names if rng.random() < 0.7] or names[:1]
        names = kept_names + rng.sample([name for name in STATEMENTS if name not in sent], k=min(1, 6 - len(sent)))
        rng.shuffle(names)
        sent = {name: sent.get(name, []) for name in {**sent, **dict.fromkeys(names)}}
        driver = continue_with(names, driver, tasks)


def written_state(name: str, rows: list[tuple[bytes, bytes]], *topics: str, n: int = 5) -> Written:
    position = TaskPosition("here", n, ends=tuple((topic, 0, 10) for topic in topics), sub_topology=name)
    return Written(position, lambda prefix: [row for row in rows if row[0].startswith(prefix)])


def reader_of(name: str, *topics: str, stores: Sequence[str] = ()) -> Wanted:
    return Wanted(name, frozenset((topic, 0) for topic in topics), frozenset(), frozenset(stores))


def after(rows: list[tuple[bytes, bytes]], move: Move) -> list[tuple[bytes, bytes]]:
    """Return the internal rows of a place after a move."""
    table = dict(rows)
    for key, value in move.changes:
        table.pop(key, None)
        if value is not None:
            table[key] = value
    return sorted(table.items())


def test_a_removed_statement_can_be_restored_with_its_state() -> None:
    own = [
        (b"\x01kind\0win", b"window"),
        (b"\x01marks\0win\0latest", b"t"),
        (b"\x01timer\0win\0k", b"due"),
        *id_rows(59_999, 5, [b"X" * 16]),
    ]
    others = [(b"\x01timer\0y\0k", b"d")]
    before = [written_state("a", [], "a"), written_state("x", own, "x"), written_state("y", others, "y")]
    gone = plan_moves([reader_of("a", "a"), reader_of("y", "y", stores=["y"])], before)
    rows = after(own, gone[1])
    assert dict(others).items() <= dict(rows).items()
    assert not any(key.startswith((b"\x01timer\0win", b"\x01dedupe")) for key, _ in rows)
    there = [
        written_state("a", [], "a"),
        Written(gone[1].position, lambda prefix: [row for row in rows if row[0].startswith(prefix)]),
    ]
    back = plan_moves(
        [reader_of("a", "a"), reader_of("x", "x", stores=["win"]), reader_of("y", "y", stores=["y"])],
        [*there, written_state("", [])],
    )
    assert after(rows, back[1]) == sorted(own)
    assert after([], back[2]) == others
    assert dict(ends(back[1]))["x"] == dict(ends(back[2]))["y"] == 10


def ends(move: Move) -> list[tuple[str, int]]:
    return [(topic, end) for topic, _, end in move.position.ends]


class Places:
    """A job of one task per sub-topology: each task's position and internal rows, by sub-topology number."""

    def __init__(self) -> None:
        self.positions: list[TaskPosition | None] = []
        self.rows: list[dict[bytes, bytes]] = []

    def start(self, *wanted: Wanted) -> None:
        """Start another topology over the existing rows."""
        while len(self.positions) < len(wanted):
            self.positions.append(None)
            self.rows.append({})
        written = [Written(position, self._scan(at)) for at, position in enumerate(self.positions)]
        for place, move in plan_moves(wanted, written).items():
            self.positions[place] = move.position
            self.rows[place] = dict(after(list(self.rows[place].items()), move))

    def _scan(self, place: int) -> Callable[[bytes], list[tuple[bytes, bytes]]]:
        return lambda prefix: [row for row in sorted(self.rows[place].items()) if row[0].startswith(prefix)]

    def run(self, place: int, task: Wanted, time: int) -> None:
        """Process one record of each topic of a task, and all records of the senders with offsets below `time`."""
        before = self.positions[place] or TaskPosition("here", 0)
        read = {(topic, number): end for topic, number, end in before.ends}
        read |= {at: read.get(at, 0) + 1 for at in task.partitions}
        topics = sorted(topic for topic, _ in task.partitions)
        self.positions[place] = replace(
            before,
            n=before.n + 1,
            stream_time=time,
            closing_time=time,
            ends=tuple((*at, end) for at, end in sorted(read.items())),
            senders=tuple(SenderTime(topic, "z-0", time, time) for topic in topics),
            sub_topology=task.identity,
        )


@pytest.mark.parametrize("seed", range(300))
def test_each_topic_is_continued_with_the_time_and_the_senders_of_its_last_reader(seed: int) -> None:
    """Sub-topologies of one or two topics are added, removed, split, merged and reordered."""
    rng, places, last = random.Random(seed), Places(), dict.fromkeys("abcd", -1)
    for _ in range(6):
        topics, wanted = rng.sample("abcd", rng.randint(1, 4)), []
        while topics:
            mine = sorted(topics[: rng.randint(1, 2)])
            topics = topics[len(mine) :]
            wanted.append(reader_of(mine[0], *mine))
        places.start(*wanted)
        for place, task in enumerate(wanted):
            mine = sorted(topic for topic, _ in task.partitions)
            position = places.positions[place] or TaskPosition("here", 0)
            time = max(last[topic] for topic in mine)
            assert (position.stream_time, position.closing_time) == (time, time), (seed, mine)
            used = {sender.topic: sender.next_offset for sender in position.senders}
            assert used == {topic: last[topic] for topic in mine if last[topic] >= 0}, (seed, mine)
        for place, task in enumerate(wanted):
            time = (places.positions[place] or TaskPosition("here", 0)).stream_time + rng.randint(1, 1_000)
            places.run(place, task, time)
            last |= dict.fromkeys((topic for topic, _ in task.partitions), time)


def test_a_removed_global_table_is_continued_where_each_sub_topology_had_read_it() -> None:
    ends = (("g", 0, 7), ("g", 1, 5))
    before = [TaskPosition("here", 5, ends=((name, 0, 1), *ends), sub_topology=name) for name in "xy"]
    assert plan_moves([reader_of("x", "x"), reader_of("y", "y")], [Written(one, lambda _: ()) for one in before]) == {}


def test_a_topic_that_comes_back_alone_has_the_timers_and_event_ids_of_its_last_reader() -> None:
    places, ids = Places(), dict(id_rows(59_999, 5, [b"X" * 16]))
    both, a, b = reader_of("a", "a", "b"), reader_of("a", "a"), reader_of("b", "b", stores=["s-b"])
    places.start(both)
    places.run(0, both, 50)
    places.rows[0] |= {b"\x01timer\0s-b\0k": b"T", **ids}
    places.start(a)
    places.start(a, b)
    assert places.rows[1][b"\x01timer\0s-b\0k"] == b"T"
    assert b"X" * 16 in places.rows[1].values()
    assert places.rows[0] == ids


def test_event_ids_that_moved_there_and_back_overwrite_no_others() -> None:
    places = Places()
    a, b, c = (reader_of(name, name) for name in "abc")
    places.start(a, b, c)
    for place, (task, letter) in enumerate(((a, b"A"), (b, b"B"), (c, b"C"))):
        places.run(place, task, 5)
        places.rows[place] |= dict(id_rows(59_999, 5, [letter * 16]))
    places.start(b, a, c)
    places.start(a, b, c)
    places.start(reader_of("a", "a", "c"), b)
    assert sorted(places.rows[0].values()) == [b"A" * 16, b"C" * 16]


def test_internal_rows_of_a_store_follow_it_out_of_a_removed_sub_topology() -> None:
    places, own = Places(), {b"\x01kind\0s": b"K", b"\x01layout\0s": b"L", b"\x01marks\0s\0latest": b"M"}
    a, b = reader_of("a", "a", stores=["s"]), reader_of("b", "b")
    places.start(b, a)
    places.run(0, b, 5)
    places.run(1, a, 5)
    places.rows[1] |= own
    places.start(reader_of("b", "b", stores=["s"]))
    assert places.rows[0] == own
    assert not places.rows[1].keys() & own.keys()


def test_a_global_table_that_is_removed_while_places_change_is_continued_by_each() -> None:
    places = Places()
    x, y = (Wanted(name, frozenset({(name, 0)}), frozenset({"g"}), frozenset()) for name in "xy")
    places.positions = [
        TaskPosition("here", 5, ends=((name, 0, 1), ("g", 0, end)), sub_topology=name)
        for name, end in (("x", 4), ("y", 7))
    ]
    places.rows = [{}, {}]
    places.start(reader_of("y", "y"), reader_of("x", "x"))
    places.start(y, x)
    assert all(
        position and ("g", 0, end) in position.ends for position, end in zip(places.positions, (7, 4), strict=True)
    )


def test_timers_of_a_query_that_is_paused_are_not_those_of_the_query_that_resumes() -> None:
    places = Places()
    x, y = reader_of("x", "x"), reader_of("y", "y")
    places.start(x, y)
    places.run(0, x, 10)
    places.run(1, y, 20)
    places.start(y)
    places.rows[0][b"\x01timer\0own\0k"] = b"of y"
    places.run(0, y, 900)
    places.start(x)
    assert not any(key.startswith(b"\x01timer") for key in places.rows[0])
    places.start(x, y)
    assert places.rows[1][b"\x01timer\0own\0k"] == b"of y"


def test_event_ids_of_two_places_that_become_one_are_all_kept() -> None:
    rows = [list(id_rows(59_999, 5, [letter * 16])) for letter in (b"A", b"B")]
    moves = plan_moves([reader_of("a", "a", "b")], [written_state("a", rows[0], "a"), written_state("b", rows[1], "b")])
    assert sorted(value for _, value in after(rows[0], moves[0])) == [b"A" * 16, b"B" * 16]


def test_records_sent_under_an_earlier_name_are_the_sender_s() -> None:
    def build(_: object) -> Topology:
        topology = Topology()
        orders = topology.stream("orders", str)
        joined = orders.join(topology.table("customers", str, store="c"), lambda left, right: left + right, str)
        joined.group_by(lambda _, value: value, str).count(store="n").to_stream().map_values(
            lambda _, n: str(n), str
        ).to("o")
        return topology

    edited = job(NoSettings, build)
    lease = replace(LEASE, start=dict.fromkeys(("orders", "customers"), (0,)))
    (read,) = task_input(edited, "app", (1, 0), lease, START).repartitions
    for name in (b"orders-0", b"customers-0", b"0-0"):
        header: Headers = [(SENDER, name)]
        read.take(PipedRecord(read.topic, read.next, b"k", b"v", 1, header), read.next)
    (sender,) = read.senders.values()
    assert (sender.name, len(sender.queue)) == ("customers-0", 3)


def test_two_sub_topologies_that_read_one_topic_are_refused() -> None:
    part = SubTopology("", job_of(["n-a"]).topology[0].processor, {"a": str})
    with pytest.raises(ValueError, match="read a first, but positions are identified by the first topic"):
        replace(job_of(["n-a"]), graph=(part, part))


@pytest.mark.parametrize(("name", "is_committed"), [("b", True), ("a", False), ("", False)])
def test_a_sub_topology_with_another_name_commits_it_at_the_next_start(name: str, is_committed: bool) -> None:
    """A new input that sorts before the others changes the name. Without records there would be no other commit."""
    left = TaskPosition("here", 4, ends=(("b", 0, 7),), sub_topology=name)
    moves = plan_moves([reader_of("a", "a", "b")], [Written(left, lambda _: ())])
    assert [move.position for move in moves.values()] == (
        [replace(left, n=5, sub_topology="a")] if is_committed else []
    )


LEASE = Lease("here", 1, 0, 1, 1, 0, dict.fromkeys(TOPICS, (0,)))
START = TaskPosition("here", 0)


def test_a_partition_whose_position_is_lost_is_refused() -> None:
    read = task_input(job_of(["n-a"]), "app", (0, 0), LEASE, START)
    refuse_unknown("app-group-0", [read], [replace(START, n=1, ends=(("a", 0, 7),))], {("a", 0)})
    refuse_unknown("app-group-0", [read], [START], set())
    with pytest.raises(StateConflict, match=r"app-group-0: a-0 was read by this job before.*forebay reset"):
        refuse_unknown("app-group-0", [read], [START], {("a", 0)})


def test_the_format_of_timers_keys_follows_the_timers() -> None:
    places, own = Places(), {b"\x01timer\0process p: t\0k": b"T", b"\x01layout\0process p": b"L"}
    x, y = reader_of("x", "x"), reader_of("y", "y")
    places.start(x, y)
    places.run(0, x, 10)
    places.run(1, y, 20)
    places.rows[1] |= own
    places.start(y, x)
    assert own.items() <= places.rows[0].items()
    assert not places.rows[1].keys() & own.keys()
    places.start(x)
    places.start(x, y)
    assert own.items() <= places.rows[1].items()
