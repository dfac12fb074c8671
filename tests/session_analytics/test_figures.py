"""The statistics of a session are correct."""

from typing import Any

from session_analytics.model import CurrentEvent, DeviceContext, DeviceInfo, Interaction, PageMetadata, SessionInfo
from tests.session_analytics.harness import GAP, START, click, driver, pipe

CHECKOUT = PageMetadata("checkout", True, True)


def test_conversions_and_categories_are_per_session() -> None:
    task = driver()
    pipe(task, 0, page_metadata=CHECKOUT)
    result = pipe(task, 1, page_metadata=PageMetadata("catalog", False, False))
    assert (result.session_metrics.conversion_events, result.session_metrics.unique_categories) == (1, 2)
    _, begun = task.pipe("ann", click(GAP + 2, page_metadata=PageMetadata("home", False, False)))
    assert begun.value.session_metrics.conversion_events == 0
    assert begun.value.session_metrics.unique_categories == 1


def test_the_average_comes_from_sum_and_count_with_2_decimals() -> None:
    task = driver()
    for at, duration in enumerate((10, 10, 11)):
        result = pipe(task, at, duration_on_page=duration)
    assert result.session_insights.avg_time_per_page == 10.33
    assert result.session_metrics.total_time_ms == 31


def test_the_last_five_pages_are_in_order_of_time_not_of_arrival() -> None:
    task = driver()
    for at in (3, 1, 7, 5, 2, 6, 4):
        result = pipe(task, at, f"/{at}")
    assert result.session_metrics.pages_visited == ("/3", "/4", "/5", "/6", "/7")
    assert result.session_metrics.pages_visited_count == 7


def test_pages_of_the_same_time_stay_in_order_of_arrival() -> None:
    task = driver()
    for page in ("/b", "/a", "/c"):
        result = pipe(task, 0, page)
    assert result.session_metrics.pages_visited == ("/b", "/a", "/c")


def test_last_activity_never_moves_backwards_nor_the_start_forwards() -> None:
    task = driver()
    pipe(task, 5)
    session_metricses = [pipe(task, at).session_metrics for at in (9, 7, 2, 4)]
    assert [item.last_activity - START for item in session_metricses] == [9, 9, 9, 9]
    assert [item.session_start - START for item in session_metricses] == [5, 5, 2, 2]


def test_time_since_last_activity_is_that_of_the_session_before_the_click() -> None:
    task = driver()
    assert pipe(task, 0).session_insights.time_since_last_activity is None
    assert pipe(task, 40).session_insights.time_since_last_activity == 40
    assert pipe(task, 20).session_insights.time_since_last_activity == 0
    assert pipe(task, 100).session_insights.time_since_last_activity == 60


def test_the_output_has_the_click_s_page_and_context() -> None:
    result = pipe(
        driver(),
        7,
        "/checkout/confirmed",
        click_id="c-1",
        sequence_number=9,
        page_metadata=CHECKOUT,
        interaction=Interaction("button"),
        device_info=DeviceInfo("tablet", None, None),
        session_info=SessionInfo(True),
    )
    assert result.current_event == CurrentEvent(
        "c-1", "/checkout/confirmed", "checkout", 10, START + 7, 9, "button", True, True
    )
    assert result.device_context == DeviceContext("tablet", "firefox", "https://search.example.com/")
    assert result.session_insights.has_simulated_gap is True


def test_missing_fields_of_a_click_are_null_and_not_counted() -> None:
    names = ("user_agent", "device_info", "referrer", "session_info", "page_metadata", "interaction")
    missing: dict[str, Any] = dict.fromkeys(names)
    result = pipe(driver(), 0, sequence_number=None, **missing)
    assert result.current_event == CurrentEvent(None, "/home", None, 10, START, None, None, None, False)
    assert result.session_metrics.unique_categories == 0
    assert result.user_profile.devices_used == result.user_profile.user_agents == ()
    assert result.device_context == DeviceContext(None, None, None)
    assert result.session_insights.has_simulated_gap is None


def test_the_profile_spans_sessions() -> None:
    task = driver()
    pipe(task, 0, device_info=DeviceInfo("desktop"), user_agent="firefox", referrer="a")
    task.pipe("ann", click(GAP + 1, device_info=DeviceInfo("mobile"), user_agent="safari", referrer="b"))
    result = pipe(task, GAP + 2, device_info=DeviceInfo("desktop"), user_agent="firefox", referrer="a")
    assert result.user_profile.total_sessions == 2
    assert result.user_profile.devices_used == ("desktop", "mobile")
    assert result.user_profile.user_agents == ("firefox", "safari")
    assert result.user_profile.referrer_sources == ("a", "b")
