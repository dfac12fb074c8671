"""The sender sends every event once, with its time and at the rate, and reports failed deliveries."""

from collections.abc import Callable
from typing import Any

import pytest

from forebay.producing.base import Event, Options
from forebay.producing.send import Sender
from forebay.producing.sources import generate
from tests.producers.test_pacing import Clock

EVENTS = list(generate("user_activity", Options(count=50, start_ms=5000)))


class Refusal:
    def str(self) -> str:
        return "message too large"


class Broker:
    """A fake producer, whose queue holds a number of records until polled."""

    def __init__(self, queue: int = 1000, refuses: Callable[[int], bool] = lambda _: False) -> None:
        self.sent: list[tuple[bytes | None, bytes | None, int]] = []
        self.flushed: list[float] = []
        self.slow_flushes = 0
        self._queue = queue
        self._refuses = refuses
        self._waiting: list[tuple[Any, int]] = []

    def produce(self, topic: str, value: Any, key: Any, *, on_delivery: Any, timestamp: int) -> None:
        if len(self._waiting) >= self._queue:
            raise BufferError
        self._waiting.append((on_delivery, len(self.sent)))
        self.sent.append((key, value, timestamp))
        self._topic = topic

    def topic(self) -> str:
        return self._topic

    def poll(self, _timeout: float) -> None:
        for on_delivery, number in self._waiting:
            if self._refuses(number):
                on_delivery(Refusal(), self)
        self._waiting.clear()

    def flush(self, timeout: float) -> int:
        self.flushed.append(timeout)
        self.poll(0)
        return max(0, self.slow_flushes - len(self.flushed))


def frame(event: Event[Any]) -> tuple[bytes, bytes]:
    return event.key.encode(), event.value.event_id.encode()


def sender(broker: Broker, clock: Clock, **options: Any) -> Sender:
    return Sender(broker, "user_activity", frame, clock=clock.read, sleep=clock.sleep, **options)  # type: ignore[arg-type]


def test_every_event_once_in_order_with_its_time() -> None:
    broker, progress = Broker(), list[int]()
    sent = sender(broker, Clock(), on_progress=progress.append).send(EVENTS)
    assert broker.sent == [(*frame(event), event.timestamp) for event in EVENTS]
    assert (sent.records, sent.failed, sent.last_error) == (50, 0, None)
    assert progress[-1] == 50
    assert broker.flushed


def test_the_sender_waits_while_the_queue_is_full() -> None:
    broker = Broker(queue=3)
    assert sender(broker, Clock()).send(EVENTS).records == 50
    assert len(broker.sent) == 50


def test_refused_records_are_counted_with_the_reason() -> None:
    sent = sender(Broker(refuses=lambda number: number in (3, 40)), Clock()).send(EVENTS)
    assert (sent.records, sent.failed) == (48, 2)
    assert sent.last_error == "user_activity: message too large"


def test_paced_by_the_clock() -> None:
    sent = sender(Broker(), Clock()).send(EVENTS, rate=10)
    assert sent.seconds == pytest.approx(4.9, abs=0.11)


def test_stops_after_the_duration() -> None:
    broker = Broker()
    sender(broker, Clock()).send(EVENTS, rate=10, duration_s=2)
    assert len(broker.sent) == 21


def test_stops_when_asked() -> None:
    broker = Broker()
    sender(broker, Clock(), should_stop=lambda: len(broker.sent) >= 5).send(EVENTS, rate=10)
    assert len(broker.sent) == 5


def test_progress_is_reported_while_the_broker_takes_the_rest() -> None:
    broker, progress = Broker(), list[int]()
    broker.slow_flushes = 4
    sender(broker, Clock(), on_progress=progress.append).send(EVENTS)
    assert progress == [50, 50, 50, 50]


def test_an_interruption_does_not_wait_long_for_the_broker() -> None:
    broker = Broker()

    def interrupt(_count: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sender(broker, Clock(), on_progress=interrupt).send(EVENTS, rate=10)
    assert broker.flushed == [5.0]
