"""Timers in both time modes, time to live, late records."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.stores.internal import TIMERS
from tests.stateful.processors import START, Click, EveryState, Expiring, Reminders, drive, texts
from tests.states import state_of


def processing(page: str) -> Click:
    return Click("a", page, at=START)


@pytest.mark.parametrize("restarts", [False, True])
def test_processing_time_timers_fire_in_order_and_once(restarts: bool) -> None:
    driver = drive(Reminders(), time_mode="ProcessingTime")
    for page in ("500", "300", "300", "400", "-400"):
        driver.pipe("a", processing(page))
        if restarts:
            driver.restart()
    assert driver.advance_wall_time(200) == []
    assert texts(driver.advance_wall_time(200)) == [
        ("a", f"{START + 300} fired as number 1; left: [{START + 300}, {START + 500}]")
    ]
    if restarts:
        driver.restart()
    assert texts(driver.advance_wall_time(2_000)) == [("a", f"{START + 500} fired as number 2; left: [{START + 500}]")]
    assert driver.advance_wall_time(10_000) == []


def event(user: str, page: str, at: int) -> Click:
    return Click(user, page, at=at)


@pytest.mark.parametrize("restarts", [False, True])
def test_event_time_timers_fire_as_the_watermark_passes(restarts: bool) -> None:
    driver = drive(Reminders(), time_mode="EventTime", event_time="at", watermark_delay_ms=100)
    for page in ("50", "20"):
        driver.pipe("a", event("a", page, 1_000))
    if restarts:
        driver.restart()
    assert texts(driver.pipe("b", event("b", "900", 1_119))) == [("b", "[2019]")]
    assert texts(driver.pipe("b", event("b", "900", 1_120)))[0] == (
        "a",
        "1020 fired as number 1; left: [1020, 1050]",
    )
    assert texts(driver.pipe("b", event("b", "-900", 1_500)))[0][1].startswith("1050 fired as number 2")


def test_event_time_timers_of_the_empty_key_fire_if_an_earlier_release_stored_them_as_those_of_the_task() -> None:
    old, new = (drive(Reminders(), time_mode="EventTime", event_time="at") for _ in range(2))
    old.pipe("", event("", "50", 1_000))
    state = {
        place: ([(key.removesuffix(b"\xff") if key.startswith(TIMERS) else key, row) for key, row in rows], position)
        for place, (rows, position) in state_of(old).items()
    }
    assert state != state_of(old)
    new.restore(state)
    assert ("", "1050 fired as number 1; left: [1050]") in texts(new.pipe("b", event("b", "900", 1_119)))


def test_a_timer_that_fails_is_reported_once_and_changes_nothing() -> None:
    driver = drive(Reminders(), time_mode="ProcessingTime", raise_errors=False)
    driver.pipe("a", processing("7"))
    driver.pipe("a", processing("9"))
    assert [text for _, text in texts(driver.advance_wall_time(1_000))] == [
        f"{START + 9} fired as number 1; left: [{START + 9}]"
    ]
    assert len(driver.errors) == 1
    driver = drive(Reminders(), time_mode="EventTime", event_time="at", raise_errors=False)
    driver.pipe("a", event("a", "7", 1_000))
    driver.pipe("a", event("a", "9", 1_000))
    fired = texts(driver.pipe("b", event("b", "0", 1_100)))
    assert ("a", "1009 fired as number 1; left: [1009]") in fired
    assert len(driver.errors) == 1


def test_late_records_are_dropped_by_spark_s_rule() -> None:
    driver = drive(EveryState, time_mode="EventTime", event_time="at", watermark_delay_ms=100)
    for at in (1_000, 901, 900, 1_000, 950):
        driver.pipe("a", event("a", "home", at))
    assert driver.store("EveryState-total") == {"a": (4,)}
    assert len(driver.late) == 1


def test_records_of_the_newest_time_are_never_late() -> None:
    driver = drive(EveryState, time_mode="EventTime", event_time="at")
    for at in (1_000, 1_000, 999):
        driver.pipe("a", event("a", "home", at))
    assert driver.store("EveryState-total") == {"a": (2,)}


@pytest.mark.parametrize("restarts", [False, True])
def test_values_elements_and_entries_expire_on_their_own(restarts: bool) -> None:
    driver = drive(Expiring, time_mode="ProcessingTime")
    driver.pipe("a", Click("a", "home"))
    driver.advance_wall_time(600)
    driver.pipe("a", Click("a", "cart"))
    if restarts:
        driver.restart()
    driver.advance_wall_time(600)
    # The update renewed the value; the first element and entry are a second old.
    (text,) = [text for _, text in texts(driver.pipe("a", Click("a", "help")))]
    assert text == ("[True, True, True] (3,) [('cart', 1), ('help', 1)] [(('cart',), (1, 0.5)), (('help',), (1, 0.5))]")


def test_expired_state_is_deleted() -> None:
    driver = drive(Expiring, time_mode="ProcessingTime")
    driver.pipe("a", Click("a", "home"))
    driver.advance_wall_time(3_000)
    for name in ("total", "pages", "byPage"):
        assert driver.store(f"Expiring-{name}") == {}


def test_current_times_depend_on_the_time_mode() -> None:
    class Times(EveryState):
        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
            times = timerValues.getCurrentProcessingTimeInMs(), timerValues.getCurrentWatermarkInMs()
            yield key[0], f"{times}"

    click = event("a", "home", 1_000)
    shown = {
        mode: texts(drive(Times, time_mode=mode, event_time="at").pipe("a", click))[0][1]
        for mode in ("None", "ProcessingTime", "EventTime")
    }
    assert shown == {"None": "(-1, -1)", "ProcessingTime": f"({START}, -1)", "EventTime": f"({START}, 1000)"}


def test_the_output_of_a_timer_has_a_timestamp_that_kafka_clients_can_write() -> None:
    class Early(Reminders):
        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
            self.handle.registerTimer(-5)
            return ()

    driver = drive(Early, time_mode="ProcessingTime")
    driver.pipe("a", Click("a"))
    assert [output.timestamp for output in driver.advance_wall_time(1_000)] == [1]
