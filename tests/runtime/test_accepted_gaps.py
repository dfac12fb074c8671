"""If input was deleted before it was read, the job stops unless the operator accepts the topic's or partition's gap."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from forebay.catalog import find_service
from forebay.runtime.driver.prepare import TopicsUnfit, check_gaps
from forebay.runtime.errors import OffsetsLost, Unavailable
from forebay.runtime.observability.metrics import JobMetrics
from forebay.runtime.protocol.gaps import NO_GAPS, AcceptedGaps, WrongGap
from forebay.runtime.worker import reader as reading
from forebay.runtime.worker.reader import GroupReader
from tests.runtime.group_bench import GroupBench
from tests.runtime.task_records import TOPIC, Total


class Bench(GroupBench):
    """A job whose operator accepts some gaps."""

    accepted = NO_GAPS

    def worker(self) -> None:
        super().worker()
        reader: Any = self.group._reader
        accepting: Any = GroupReader(reader._consumer, reader._admin, self.accepted)
        self.group._reader = self.group._gathering._reader = accepting
        self.group._idleness._reader = accepting

    def accept(self, *texts: str) -> None:
        """Continue in a new process with these gaps accepted."""
        self.accepted = AcceptedGaps.parse(texts)
        self.group.abandon()
        self.worker()

    def retain_from(self, offset: int) -> None:
        """Let retention delete everything before an offset."""
        for _ in self.broker.partitions:
            self.broker.settle()
        self.broker.delete_before((TOPIC, 0), offset)


def job_with_a_gap(unread_after_it: int = 1) -> Bench:
    bench = Bench()
    bench.feed(("a", 10, 1), ("a", 20, 2))
    bench.run()
    bench.feed(("a", 30, 4), ("a", 40, 8))
    for number in range(unread_after_it):
        bench.feed(("a", 50 + number, 16))
    bench.retain_from(4)
    bench.accept()
    return bench


def test_a_gap_stops_the_job_and_the_message_names_what_accepts_it() -> None:
    bench = job_with_a_gap()
    with pytest.raises(OffsetsLost, match=rf"{TOPIC}-0: offset 2 is wanted, but the topic holds 4 to 5.*--accept-gap"):
        bench.run()


def test_the_end_of_a_gap_is_looked_up_again_after_a_broker_error(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = job_with_a_gap()

    def refuse(*_: object) -> tuple[int, int]:
        raise KafkaException(KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION))

    # The gap is noticed while another broker begins to lead the partition.
    with monkeypatch.context() as failing:
        failing.setattr(reading, "watermarks", refuse)
        with pytest.raises(Unavailable, match=f"can't look up the first offset of {TOPIC}-0"):
            bench.run()
    bench.group.abandon()
    with pytest.raises(OffsetsLost, match="--accept-gap"):
        bench.run()


@pytest.mark.parametrize("text", [TOPIC, f"{TOPIC}:0", f"other,{TOPIC}:0", f"{TOPIC}:7,{TOPIC}"])
def test_an_accepted_gap_is_skipped_logged_and_counted(text: str, caplog: pytest.LogCaptureFixture) -> None:
    bench = job_with_a_gap()
    bench.accept(text)
    bench.run()
    assert bench.outputs()[-1] == ("a", Total(1 + 2 + 16, 3)), "the state is kept"
    assert f"{TOPIC}-0: offsets 2 to 3 were deleted before they were read: continuing at 4" in caplog.text
    metrics = JobMetrics("sums")
    bench.task.figures.sign(1)
    metrics.observe([bench.task.figures])
    assert metrics.registry.get_sample_value("forebay_skipped_offsets_total", {"service": "sums", "topic": TOPIC}) == 2


@pytest.mark.parametrize("text", ["other", f"{TOPIC}:1", f"{TOPIC}x"])
def test_a_gap_of_another_name_is_not_accepted(text: str) -> None:
    bench = job_with_a_gap()
    bench.accept(text)
    with pytest.raises(OffsetsLost):
        bench.run()


def test_skipping_a_gap_at_the_end_of_a_partition_is_committed() -> None:
    bench = job_with_a_gap(unread_after_it=0)
    bench.accept(TOPIC)
    bench.run()
    assert bench.positions()[-1].ends == ((TOPIC, 0, 4),)
    bench.accept()
    bench.feed(("a", 60, 32))
    bench.run()
    assert bench.outputs()[-1] == ("a", Total(1 + 2 + 32, 3))


def test_a_gap_found_while_the_job_runs_reopens_the_group() -> None:
    bench = job_with_a_gap(unread_after_it=1)
    bench.accept(TOPIC)
    bench.run()
    bench.feed(("a", 60, 32), ("a", 70, 64))
    bench.retain_from(6)
    with pytest.raises(Unavailable, match=rf"{TOPIC}-0: offset 5 was deleted before it was read"):
        bench.run()
    bench.group.abandon()
    bench.run()
    assert bench.outputs()[-1] == ("a", Total(1 + 2 + 16 + 64, 4))


def test_an_offset_behind_the_end_is_no_gap() -> None:
    """A topic that is shorter than the position was recreated. Accepting a gap does not accept its new content."""
    bench = job_with_a_gap()
    bench.accept(TOPIC)
    bench.run()
    partition = bench.broker.partitions[TOPIC, 0]
    partition.low, partition.end, partition.records = 0, 1, []
    bench.accept(TOPIC)
    with pytest.raises(OffsetsLost, match="offset 5 is wanted, but the topic holds 0 to 1"):
        bench.run()


@pytest.mark.parametrize("text", ["", "a,,b", ":3", "orders:", "orders:-1", "orders:x", "orders:1:2"])
def test_a_name_without_a_target_is_refused(text: str) -> None:
    with pytest.raises(WrongGap, match="such as orders:3"):
        AcceptedGaps.parse([text])


def test_topics_that_the_job_does_not_read_are_refused_at_the_start() -> None:
    service = find_service("user-sessions")
    check_gaps(service, ["user_activity", "user_activity:3"])
    with pytest.raises(TopicsUnfit, match="--accept-gap clicks: user-sessions reads user_activity"):
        check_gaps(service, ["user_activity,clicks:1"])


def test_figures_of_a_release_without_the_count_are_read() -> None:
    bench = job_with_a_gap()
    figures = dataclasses.replace(bench.task.figures, skipped={TOPIC: 2})
    assert type(figures).from_json(figures.to_json()).skipped == {TOPIC: 2}
    assert type(figures).from_json('{"part": 0, "task": 0}').skipped == {}
