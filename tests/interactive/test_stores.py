"""The view of a store returns the entries of one key or of all keys, page by page, and reports unsupported requests."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pytest

from forebay.http.messages import Answer, Request
from forebay.http.server import HttpServer
from forebay.interactive.stores import CannotQuery, StoreView

ROWS = {"a": 1, "b": 2, "c": 3}


def answer(request: Request) -> Answer:
    """Return the response of a query server whose pages have two entries."""
    _, store, *key = request.path
    if store == "unknown":
        return json_answer(404, {"error": "there is no store 'unknown': choose from counts"})
    if key:
        result = [{"key": "/".join(key), "value": ROWS["/".join(key)]}] if "/".join(key) in ROWS else []
        return json_answer(200 if result else 404, {"entries": result, "batches": {}, "more": False})
    after = request.parameters.get("after", [""])[0]
    rest = [{"key": item, "value": ROWS[item]} for item in ROWS if item > after]
    page = {"entries": rest[:2], "batches": {}, "more": len(rest) > 2}
    return json_answer(200, {**page, "next": rest[1]["key"]} if len(rest) > 2 and store == "counts" else page)


def json_answer(status: int, body: object) -> Answer:
    return Answer(status, "application/json", json.dumps(body).encode())


@pytest.fixture
def address() -> Iterator[str]:
    server = HttpServer(answer, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.port}"
    server.close()


def test_a_key(address: str) -> None:
    view = StoreView("counts", lambda: address)
    assert view.get("b") == [{"key": "b", "value": 2}]
    assert view.value("b") == 2
    assert view.value("z") is None


def test_all_keys_over_several_pages(address: str) -> None:
    view = StoreView("counts", lambda: address)
    assert [entry["value"] for entry in view.entries()] == [1, 2, 3]
    assert [entry["value"] for entry in view.entries(limit=2)] == [1, 2]


def test_a_store_as_a_table_of_arrow_and_pandas(address: str) -> None:
    view = StoreView("counts", lambda: address)
    assert view.to_arrow().to_pylist() == [{"key": key, "value": value} for key, value in ROWS.items()]
    assert view.to_pandas()["value"].sum() == 6
    assert view.to_arrow(limit=2).num_rows == 2, "bounds are those of entries()"


def test_a_table_has_the_fields_of_all_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only versions that were replaced have an end, and the first entry may be the latest version."""
    view = StoreView("prices", lambda: "")
    rows = [
        {"key": "a", "timestamp": 1, "value": {"x": 1}},
        {"key": "b", "timestamp": 1, "valid_to": 5, "value": {"x": 1, "y": 2}},
    ]
    monkeypatch.setattr(view, "entries", lambda: iter(rows))
    assert view.to_arrow().to_pylist() == [
        {"key": "a", "timestamp": 1, "valid_to": None, "value": {"x": 1, "y": None}},
        {"key": "b", "timestamp": 1, "valid_to": 5, "value": {"x": 1, "y": 2}},
    ]
    monkeypatch.setattr(view, "entries", lambda: iter(()))
    assert view.to_arrow().column_names == ["key", "value"], "a store without entries"


def test_pandas_is_asked_for_where_it_is_missing(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(CannotQuery, match=r"needs pandas: pip install 'forebay\[pandas\]'"):
        StoreView("counts", lambda: address).to_pandas()


def test_values_of_different_types_are_no_table(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ROWS, "b", "text")
    with pytest.raises(CannotQuery, match=r"store counts: its values don't fit one type of Arrow .*: use entries\(\)"):
        StoreView("counts", lambda: address).to_arrow()


def test_truncated_entries_are_reported(address: str) -> None:
    with pytest.raises(
        CannotQuery, match=("store windows has more than 10000 entries: restrict the query with bounds")
    ):
        list(StoreView("windows", lambda: address).entries())


def test_errors(address: str) -> None:
    with pytest.raises(CannotQuery, match="there is no store 'unknown': choose from counts"):
        StoreView("unknown", lambda: address).get("a")
    with pytest.raises(CannotQuery, match="the job's queries don't answer"):
        StoreView("counts", lambda: "http://127.0.0.1:1").get("a")
