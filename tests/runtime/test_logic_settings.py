"""Settings of the logic are converted from text, and senseless values are rejected with their reason."""

from __future__ import annotations

import pytest

from forebay.catalog import find_service
from forebay.runtime.driver.logic_settings import WrongSettings, parse_logic
from windowed_metrics.settings import EmitResults


def test_text_is_converted_to_the_type_of_the_setting() -> None:
    parsed = parse_logic(find_service("windowed-metrics"), {"emit_results": "both", "window_ms": "60000"})
    assert parsed == {"emit_results": EmitResults.BOTH, "window_ms": 60_000}


@pytest.mark.parametrize(
    ("service", "given", "message"),
    [
        ("windowed-metrics", {"size": "1"}, "has no setting 'size': choose from window_ms"),
        ("windowed-metrics", {"emit_results": "some"}, "emit_results=some is not one of every, final, both"),
        ("windowed-metrics", {"window_ms": "long"}, "window_ms=long is not of type int"),
        ("user-sessions", {"idle_timeout_ms": "-1"}, "idle_timeout_ms is -1"),
    ],
)
def test_senseless_values_are_refused(service: str, given: dict[str, str], message: str) -> None:
    with pytest.raises(WrongSettings, match=message):
        parse_logic(find_service(service), given)
