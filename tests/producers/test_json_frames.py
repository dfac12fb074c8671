"""Records without contract are JSON; a malformed one can't be parsed."""

from __future__ import annotations

import json

import pytest

from forebay.producing.base import Defect, Event
from forebay.producing.frames import json_frame

VALUE = {"kind": "visit", "amount": 1.5}


def test_an_event_is_its_value_as_json() -> None:
    key, value = json_frame(Event("ada", VALUE, 7))
    assert key == b"ada"
    assert value is not None
    assert json.loads(value) == VALUE


@pytest.mark.parametrize("defect", Defect)
def test_a_malformed_one_can_not_be_read(defect: Defect) -> None:
    key, value = json_frame(Event("ada", VALUE, 7, defect))
    if defect is Defect.NULL_KEY:
        assert key is None
    elif defect is Defect.NULL_VALUE:
        assert value is None
    else:
        assert value
        with pytest.raises(ValueError, match=r"Unterminated string|Expecting"):
            json.loads(value)
