"""Every part has all rows of a global table, so that it responds without asking the others."""

from __future__ import annotations

import pytest

from forebay.testing.cell import Cell
from tests.queries.parts.parted import Parted, get, publish
from tests.queries.written import LOG


@pytest.fixture
def everywhere(parts: Parted, monkeypatch: pytest.MonkeyPatch) -> Parted:
    """Return parts whose store `stamped` belongs to a global table."""
    (store,) = [store for store in LOG.stores if store.name == "stamped"]
    monkeypatch.setattr(store, "is_global", True)
    for task in parts.tasks:
        for key in "ab":
            task.store("stamped").put(key, Cell("1"), 3)
    publish(parts.tasks)
    return parts


@pytest.mark.parametrize(
    "target", ["/stores/stamped", "/stores/stamped/b", "/stores/stamped?limit=1", "/stores/stamped/c"]
)
def test_a_part_answers_from_its_own_rows(everywhere: Parted, target: str) -> None:
    status, wanted, _ = get(everywhere.whole + target)
    for part, url in enumerate(everywhere.urls):
        everywhere.servers[(part + 1) % 3].asked.clear()
        got, body, _ = get(url + target)
        assert (got, body.pop("batches")) == (status, {str(part): 3})
        assert body == {name: value for name, value in wanted.items() if name != "batches"}
        assert not everywhere.servers[(part + 1) % 3].asked


def test_a_part_that_still_reads_changelogs_forwards_the_request(everywhere: Parted) -> None:
    everywhere.tasks[0].replica.is_current = False
    everywhere.handlers[1] = everywhere._nobody
    status, body, _ = get(f"{everywhere.urls[0]}/stores/stamped")
    assert (status, len(body["entries"]), body["batches"], "missing" in body) == (200, 2, {"2": 3}, False)
    everywhere.handlers[2] = everywhere._nobody
    assert get(f"{everywhere.urls[0]}/stores/stamped")[1]["missing"] == [0, 1, 2]
