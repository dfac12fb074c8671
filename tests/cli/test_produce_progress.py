"""A producer reports its progress: a log line every five seconds, or on a terminal one line that is updated."""

import io

from rich.console import Console

from forebay.cli.sending import LiveSending, PlainSending, sending_for


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def console(*, terminal: bool = False) -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, force_terminal=terminal, width=100), file


def test_a_line_every_five_seconds() -> None:
    clock, (target, file) = Clock(), console()
    with PlainSending(target, "user_activity", clock) as sending:
        for second in range(13):
            clock.now = 100.0 + second
            sending.sent(1000 * second)
    assert file.getvalue().splitlines() == [
        "user_activity: 5,000 events, 1,000/s, 5 s",
        "user_activity: 10,000 events, 1,000/s, 10 s",
    ]


def test_the_rate_is_that_since_the_last_line() -> None:
    clock, (target, file) = Clock(), console()
    with PlainSending(target, "t", clock) as sending:
        for now, count in ((105.0, 50), (110.0, 1050)):
            clock.now = now
            sending.sent(count)
    assert "1,050 events, 200/s, 10 s" in file.getvalue()


def test_one_line_of_a_terminal() -> None:
    clock, (target, file) = Clock(), console(terminal=True)
    with LiveSending(target, "user_activity", clock) as sending:
        for tenth in range(1, 21):
            clock.now = 100 + tenth / 10
            sending.sent(100 * tenth)
    text = file.getvalue()
    assert "connecting" in text
    assert "Ctrl-C to stop" in text
    assert text.count("events") < 10


def test_a_terminal_gets_the_updating_line() -> None:
    assert isinstance(sending_for(console(terminal=True)[0], "t"), LiveSending)
    assert isinstance(sending_for(console()[0], "t"), PlainSending)
