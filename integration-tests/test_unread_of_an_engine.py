"""An engine looks for unread records of edited statements on the broker, before and after the job's first commit."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer
from own_topics import settings_of

from forebay.cli.topic_creation import create_missing
from forebay.live.draft import Draft, draft_of, parse_request
from forebay.live.history import History
from forebay.live.unread import refuse_unread
from forebay.platform import Endpoints
from forebay.runtime.protocol.times import data_headers
from forebay.runtime.task.record_formats import record_formats
from forebay.sql.errors import Place, SqlError
from forebay.sql.service import VARIABLE

APPLICATION = "unread"
DECLARED = (
    "CREATE STREAM unread_s (id STRING KEY, a STRING, b STRING)"
    " WITH (KAFKA_TOPIC='unread_s', PARTITIONS=1, VALUE_FORMAT='JSON');"
    "CREATE TABLE unread_p (id STRING PRIMARY KEY, price INT)"
    " WITH (KAFKA_TOPIC='unread_p', PARTITIONS=1, VALUE_FORMAT='JSON');"
)
JOIN = "CREATE STREAM unread_j AS SELECT s.b, p.price, p.id FROM unread_s s JOIN unread_p p ON s.a = p.id;"
EDITED = JOIN.replace("s.a =", "s.b =")
TOPIC = f"{APPLICATION}-unread-j-join-repartition"


def draft(text: str, file: Path) -> Draft:
    _, statements = parse_request(DECLARED + text, History(), file)
    file.write_text(DECLARED + text)
    return draft_of(statements, file)


def test_an_edited_statement_is_refused_while_records_are_unread(
    endpoints: Endpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, file = settings_of(endpoints), tmp_path / f"{APPLICATION}.sql"
    monkeypatch.setenv(VARIABLE, str(file))
    edited, former = draft(EDITED, file), draft(JOIN, file)
    refuse_unread(settings, APPLICATION, former, Place())
    assert former.service is not None
    assert former.job is not None
    create_missing(settings, former.service, APPLICATION, 1)
    refuse_unread(settings, APPLICATION, edited, Place())
    producer = Producer(settings.producer())
    digest = record_formats(APPLICATION, former.job)[TOPIC].digest
    producer.produce(TOPIC, b"v", b"k", 0, headers=[*data_headers("s-0", digest)])
    assert producer.flush(30) == 0
    refuse_unread(settings, APPLICATION, former, Place())
    with pytest.raises(SqlError, match=f"{TOPIC} holds records of a format .* 1 record is unread .*another name"):
        refuse_unread(settings, APPLICATION, edited, Place())
