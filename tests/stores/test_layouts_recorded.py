"""The formats of a store's rows are recorded with them. A rescale merges the recorded formats of several tasks."""

from __future__ import annotations

import pytest

from forebay.formats.identities import by_name, columns_of
from forebay.stores.layouts import PREFIX as LAYOUTS
from forebay.stores.layouts import decode_layout, encode_layout, merge_recorded
from forebay.stores.spread import NotSpreadable, Spreader


def test_layouts_of_tasks_that_changed_before_and_after_an_edit_are_merged() -> None:
    one, other = (encode_layout({"values": by_name("JSON", shape), "keys": "text"}) for shape in ("A INT", "B INT"))
    assert decode_layout(merge_recorded(one, other))["values"] == by_name("JSON", "B INT")
    columns = b"A INT\nB INT"
    merged = merge_recorded(columns, encode_layout({"values": columns_of(columns.decode()), "keys": "text"}))
    assert decode_layout(merged) == {"values": columns_of("A INT\nB INT"), "keys": "text", "windows": None}
    assert merge_recorded(merged, columns) == merged


def test_layouts_that_no_format_reads_are_refused() -> None:
    tables = [[(LAYOUTS + b"prices", encode_layout({"values": kind}))] for kind in ("long", "double")]
    with pytest.raises(NotSpreadable, match="different formats of a store, which holds rows of"):
        Spreader([], lambda *_: None, 2, 1).spread(tables)
