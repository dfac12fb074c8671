"""If another program has written any other offset metadata, the job stops and reports the remedy."""

from __future__ import annotations

import pytest

from forebay.runtime.errors import StateConflict
from forebay.runtime.protocol.position import TaskPosition, owner

FOREIGN = ["", "rubbish", "7", "null", "[]", '"text"', "{}", '{"to": 7}', '{"to": [], "job": "j"}', "[" * 100_000]


@pytest.mark.parametrize("text", FOREIGN, ids=lambda text: text[:20] or "nothing")
def test_a_foreign_marker_is_reported(text: str) -> None:
    with pytest.raises(StateConflict, match="was not written by Forebay") as caught:
        owner(text)
    assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize("text", FOREIGN, ids=lambda text: text[:20] or "nothing")
def test_a_foreign_position_is_reported(text: str) -> None:
    with pytest.raises(StateConflict, match="was not written by Forebay"):
        TaskPosition.from_json(text.encode())
