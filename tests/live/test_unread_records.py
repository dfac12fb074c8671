"""An engine refuses a statement that would misread unread records, and the error says what to write instead."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from forebay.live import unread
from forebay.live.draft import Draft, draft_of, parse_request
from forebay.live.history import History
from forebay.live.unread import adds_formats, edits_formats, refuse_unread
from forebay.runtime.driver.committed_records import Take
from forebay.runtime.protocol.times import data_headers
from forebay.runtime.task.record_formats import record_formats, row_of
from forebay.sql.errors import Place, SqlError
from forebay.stores.layouts import encode_layout
from tests.runtime.simulator.broker import Record

DECLARED = (
    "CREATE STREAM s (id STRING KEY, a STRING, b STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');"
    "CREATE TABLE p (id STRING PRIMARY KEY, price INT) WITH (KAFKA_TOPIC='p', PARTITIONS=1, VALUE_FORMAT='JSON');"
)
JOIN = "CREATE STREAM j AS SELECT s.b, p.price, p.id FROM s JOIN p ON s.a = p.id;"
EDITED = JOIN.replace("s.a =", "s.b =")
TOPIC, INTERNAL = "shop-j-join-repartition", "shop-1-task"
KAFKA: Any = None


def draft(text: str, folder: Path) -> Draft:
    _, statements = parse_request(DECLARED + text, History(), folder / "shop.sql")
    return draft_of(statements, folder / "shop.sql")


class Written:
    """One unread record of a version of the program (implements `Records`)."""

    internal = (INTERNAL,)

    def __init__(self, sender: Draft) -> None:
        assert sender.job is not None
        kind = record_formats("shop", sender.job)[TOPIC]
        headers = data_headers("s-0", kind.digest)
        layout = encode_layout(kind.layout)
        self._records = {
            (TOPIC, 0): Record((TOPIC, 0), 0, b"k", b"v", 1, headers, None, 0),
            (INTERNAL, 0): Record((INTERNAL, 0), 0, row_of(TOPIC, kind.digest), layout, 1, None, None, 0),
        }

    def positions(self) -> Mapping[tuple[int, int], Any]:
        return {}

    def read(self, offsets: Mapping[tuple[str, int], int], take: Take) -> None:
        for place in offsets:
            take(place, self._records[place], 0)


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Partitions of the job's topics by name."""
    counts = {"shop-0-task": 1}
    monkeypatch.setattr(unread, "TopicAdmin", lambda _: SimpleNamespace(partitions=lambda _: counts))
    monkeypatch.setattr(unread, "find_former", lambda *_: ())
    return counts


def test_unread_records_of_the_former_statement_are_refused(
    tmp_path: Path, tasks: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    former, edited = draft(JOIN, tmp_path), draft(EDITED, tmp_path)
    monkeypatch.setattr(unread, "CommittedRecords", lambda *_: Written(former))
    refuse_unread(KAFKA, "shop", former, Place("", 1, 1))
    with pytest.raises(SqlError, match=rf"^line 3, column 7: {TOPIC} holds rows of .* 1 record is unread") as refusal:
        refuse_unread(KAFKA, "shop", edited, Place("", 3, 7))
    assert str(refusal.value).endswith(
        "Give the result another name, or write the statement as it was until the job has read them"
    )
    tasks.clear()
    refuse_unread(KAFKA, "shop", edited, Place("", 3, 7))


def test_only_statements_with_other_formats_are_looked_at(tmp_path: Path) -> None:
    former, edited, without = draft(JOIN, tmp_path), draft(EDITED, tmp_path), draft("", tmp_path)
    assert (adds_formats(former, former), edits_formats(former, former)) == (False, False)
    assert (adds_formats(edited, former), edits_formats(edited, former)) == (True, True)
    assert (adds_formats(without, former), edits_formats(without, former)) == (False, False)
    assert (adds_formats(edited, without), edits_formats(edited, without)) == (True, False)
