"""Statements are checked, without a broker, against all statements that were accepted before."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.live.draft import Draft, change_of, check_added, check_stores, draft_with, parse_request
from forebay.live.history import Change, History, UnreadableChange
from forebay.sql.errors import SqlError

DECLARED = "CREATE STREAM s (id STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');"
COMPUTED = "CREATE TABLE t AS SELECT id, SUM(n) AS n FROM s GROUP BY id;"


def accept(history: History, text: str, folder: Path) -> tuple[History, Draft]:
    """Return the history with an additional change, and its program. Raises SqlError."""
    file = folder / "shop.sql"
    before, added = parse_request(text, history, file)
    draft, lasting, is_paused = draft_with(before, added, history, file)
    check_stores(draft, history, added)
    check_added(draft, history, added)
    change = change_of(lasting, draft, history, "", is_paused=is_paused)
    return history.extend(Change.decode(change.encode(), 0)), draft


ROWS = "CREATE TABLE r (id STRING PRIMARY KEY, n INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');"
OF_ROWS = "CREATE TABLE {} AS SELECT n, COUNT(*) AS c FROM r GROUP BY n;"


def history_of(folder: Path, *texts: str) -> History:
    history = History()
    for text in texts:
        history, _ = accept(history, text, folder)
    return history


def names(draft: Draft) -> list[str]:
    return [query.name for query in draft.program.queries]


def test_later_statements_know_earlier_ones(tmp_path: Path) -> None:
    history, draft = accept(history_of(tmp_path, DECLARED), COMPUTED, tmp_path)
    assert names(draft) == ["CTAS_T_0"]
    assert list(history.stores) == ["t"]
    assert draft.service is not None
    assert draft.service.name == "shop"


def test_types_are_known_to_later_statements(tmp_path: Path) -> None:
    history = history_of(tmp_path, "CREATE TYPE address AS STRUCT<town STRING>;")
    declared = "CREATE STREAM a (id STRING KEY, home address) WITH (KAFKA_TOPIC='a', PARTITIONS=1, FORMAT='JSON');"
    _, draft = accept(history, declared, tmp_path)
    assert draft.program.catalog.find("A") is not None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("CREATE TABLE u AS SELECT nothing FROM s GROUP BY id;", "line 1, column 26: there is no column NOTHING"),
        ("DROP STREAM s;", "s can't be dropped"),
        ("PAUSE other;", "there is no query OTHER"),
        ("RUN SCRIPT '/etc/passwd';", "is for files"),
        ("DROP TABLE t DELETE TOPIC;", "an engine does not support DELETE TOPIC"),
        (COMPUTED, "T"),
    ],
)
def test_a_refusal_names_the_place_in_the_request(text: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(SqlError, match=r"line 1") as refused:
        accept(history_of(tmp_path, DECLARED, COMPUTED), text, tmp_path)
    assert reason.upper() in str(refused.value).upper()


def test_incompatible_change_of_a_result_is_refused(tmp_path: Path) -> None:
    history = history_of(tmp_path, DECLARED, COMPUTED)
    other = "CREATE OR REPLACE TABLE t AS SELECT id, SUM(n) AS n, COUNT(*) AS c FROM s GROUP BY id;"
    with pytest.raises(SqlError, match="Give the result another name"):
        accept(history, other, tmp_path)


@pytest.mark.parametrize("before", ["", "\ngroup S.ID STRING\nSUM(S.N) INTEGER"])
def test_a_history_of_an_earlier_build_continues(before: str, tmp_path: Path) -> None:
    written = history_of(tmp_path, DECLARED, COMPUTED)
    *first, last = written.changes
    stores = {name: declared.partition("\n")[0] + before for name, declared in last.stores.items()}
    earlier = History((*first, Change(last.sql, last.is_paused, stores, last.schemas)))
    continued, _ = accept(earlier, "CREATE TABLE u AS SELECT id, MAX(n) AS n FROM s GROUP BY id;", tmp_path)
    assert continued.stores["t"] == written.stores["t"]


@pytest.mark.parametrize("end", ["DROP TABLE t;", "TERMINATE CTAS_T_0; DROP TABLE t;", "TERMINATE ALL; DROP TABLE t;"])
def test_a_table_that_is_created_again_begins_without_rows(end: str, tmp_path: Path) -> None:
    history = history_of(tmp_path, DECLARED, COMPUTED)
    other = "CREATE TABLE t AS SELECT id, MAX(n) AS n FROM s GROUP BY id;"
    for number, text in enumerate((other, COMPUTED, other), 1):
        history, draft = accept(history, end.replace("T_0", f"T_{number - 1}") + text, tmp_path)
        assert list(draft.stores) == [f"t.{number + 1}"]
    replaced = "CREATE OR REPLACE TABLE t AS SELECT id, MAX(n) AS n FROM s WHERE n > 3 GROUP BY id;"
    assert list(accept(history, replaced, tmp_path)[1].stores) == ["t.4"], "it keeps its rows"
    assert list(accept(history, COMPUTED.replace("TABLE t", "TABLE u"), tmp_path)[1].stores) == ["t.4", "u"]


def test_dropping_a_nonexistent_table_changes_no_store(tmp_path: Path) -> None:
    _, draft = accept(history_of(tmp_path, DECLARED), "DROP TABLE IF EXISTS t;" + COMPUTED, tmp_path)
    assert list(draft.stores) == ["t"]


def test_recreated_result_gets_a_unique_store_name(tmp_path: Path) -> None:
    others = COMPUTED.replace("TABLE t", "TABLE t_2") + COMPUTED.replace("TABLE t", "TABLE `T.2`")
    _, draft = accept(history_of(tmp_path, DECLARED, COMPUTED), "DROP TABLE t;" + COMPUTED + others, tmp_path)
    assert list(draft.stores) == ["t.2", "t-2", "t-2-2"]


def test_an_insert_that_is_created_again_begins_with_new_stores(tmp_path: Path) -> None:
    other = DECLARED.replace("STREAM s", "STREAM r").replace("='s'", "='r'")
    insert = "INSERT INTO o SELECT s.id AS id, s.n AS n FROM s JOIN r WITHIN 1 HOUR ON s.id = r.id;"
    target = DECLARED.replace("STREAM s", "STREAM o").replace("='s'", "='o'")
    history, before = accept(history_of(tmp_path, DECLARED + other + target), insert, tmp_path)
    _, after = accept(history, "TERMINATE INSERTQUERY_0;" + insert, tmp_path)
    assert all(name.startswith("insert-o-") for name in before.stores)
    assert {name.replace("insert-o-", "insert-o.2-") for name in before.stores} == after.stores.keys()


def test_a_history_that_missed_changes_is_not_declared_again(tmp_path: Path) -> None:
    with_history = "CREATE OR REPLACE TABLE x {} AS SELECT id, n FROM r;"
    declared = with_history.format("WITH (HISTORY_RETENTION='7 DAYS')")
    history = history_of(tmp_path, ROWS + OF_ROWS.format("a"), declared, with_history.format(""))
    with pytest.raises(SqlError, match=r"the store x-history was kept when .*Drop the result and create it again"):
        accept(history, declared, tmp_path)
    _, draft = accept(history, "DROP TABLE x;" + declared, tmp_path)
    assert "x.2-history" in draft.stores


def test_all_stores_of_a_query_that_is_created_again_are_new(tmp_path: Path) -> None:
    """Joins, tables without an aggregate, histories and repartitions."""
    other = DECLARED.replace("STREAM s", "STREAM r").replace("='s'", "='r'")
    statements = (
        "CREATE STREAM j AS SELECT s.id, s.n AS n, r.n AS m FROM s JOIN r WITHIN 1 HOUR ON s.n = r.n;",
        "CREATE TABLE b WITH (HISTORY_RETENTION='7 DAYS') AS SELECT n, COUNT(*) AS c FROM s GROUP BY n;",
        "CREATE TABLE c AS SELECT b.n, b.c AS c, d.c AS e FROM b JOIN d ON b.n = d.n;",
        "CREATE TABLE f AS SELECT b.n, b.c AS c, d.n AS e FROM b JOIN d ON CAST(b.c AS INT) = d.n;",
    )
    declared = DECLARED + other + "CREATE TABLE d AS SELECT n, COUNT(*) AS c FROM r GROUP BY n;"
    history, before = accept(history_of(tmp_path, declared), "".join(statements), tmp_path)
    again = "DROP TABLE f; DROP TABLE c; DROP TABLE b; DROP STREAM j;" + "".join(statements)
    _, after = accept(history, again, tmp_path)
    assert before.stores.keys() & after.stores.keys() == {"d"}
    assert len(after.stores) == len(before.stores)


def test_setting_applies_only_to_its_request(tmp_path: Path) -> None:
    setting = "SET 'ksql.persistence.default.format.value'='JSON'; SET 'auto.offset.reset'='earliest';"
    declared = DECLARED.replace(", VALUE_FORMAT='JSON'", "")
    history = history_of(tmp_path, setting + declared)
    assert "auto.offset.reset" not in history.text
    other = declared.replace(" s ", " u ").replace("'s'", "'u'")
    with pytest.raises(SqlError, match="FORMAT"):
        accept(history, other, tmp_path)


def test_variable_applies_only_to_its_request_and_its_value_is_recorded(tmp_path: Path) -> None:
    history, draft = accept(
        history_of(tmp_path, DECLARED), f"DEFINE name = 't'; {COMPUTED.replace(' t ', ' ${name} ')}", tmp_path
    )
    assert names(draft) == ["CTAS_T_0"]
    assert "${" not in history.text
    assert "DEFINE" not in history.text
    with pytest.raises(SqlError, match="there is no variable name"):
        accept(history, "DROP TABLE ${name};", tmp_path)


def test_pausing_changes_no_statement(tmp_path: Path) -> None:
    history = history_of(tmp_path, DECLARED, COMPUTED, "PAUSE ALL;")
    assert history.is_paused
    assert "PAUSE" not in history.text
    assert not accept(history, "RESUME CTAS_T_0;", tmp_path)[0].is_paused


OTHER = DECLARED.replace("STREAM s", "STREAM r").replace("='s'", "='r'")
OTHER_COMPUTED = COMPUTED.replace("TABLE t", "TABLE u").replace("FROM s", "FROM r")
NEW = "CREATE TABLE q_counts AS SELECT id, COUNT(*) AS c FROM q GROUP BY id;"
READER = "CREATE TABLE v AS SELECT n, COUNT(*) AS c FROM t GROUP BY n;"


def waiting_names(draft: Draft) -> list[str]:
    return [query.name for query in draft.program.waiting]


def test_a_query_with_topics_of_its_own_is_paused_alone(tmp_path: Path) -> None:
    history, draft = accept(
        history_of(tmp_path, DECLARED, OTHER, COMPUTED, OTHER_COMPUTED), "PAUSE CTAS_T_0;", tmp_path
    )
    assert (names(draft), waiting_names(draft), history.is_paused) == (["CTAS_U_1"], ["CTAS_T_0"], False)
    _, later = accept(history, READER.replace("FROM t", "FROM u"), tmp_path)
    assert waiting_names(later) == ["CTAS_T_0"]
    history, draft = accept(history, "RESUME CTAS_T_0;", tmp_path)
    assert (names(draft), waiting_names(draft)) == (["CTAS_T_0", "CTAS_U_1"], [])


@pytest.mark.parametrize("resumed", ["RESUME ALL;", "RESUME CTAS_T_0; RESUME CTAS_U_1;"])
def test_no_job_runs_while_all_queries_are_paused(resumed: str, tmp_path: Path) -> None:
    history = history_of(tmp_path, DECLARED, OTHER, COMPUTED, OTHER_COMPUTED, "PAUSE CTAS_T_0;")
    history, draft = accept(history, "PAUSE CTAS_U_1;", tmp_path)
    assert draft.service is None
    _, later = accept(history, OTHER.replace("STREAM r", "STREAM q").replace("='r'", "='q'") + NEW, tmp_path)
    assert (names(later), waiting_names(later)) == (["CTAS_Q_COUNTS_2"], ["CTAS_T_0", "CTAS_U_1"])
    history, draft = accept(history, resumed, tmp_path)
    assert (history.is_paused, names(draft), waiting_names(draft)) == (False, ["CTAS_T_0", "CTAS_U_1"], [])


def test_the_last_query_that_runs_is_terminated_and_others_stay_paused(tmp_path: Path) -> None:
    history = history_of(tmp_path, DECLARED, OTHER, COMPUTED, OTHER_COMPUTED, "PAUSE CTAS_T_0;")
    history, draft = accept(history, "TERMINATE CTAS_U_1;", tmp_path)
    assert (history.is_paused, draft.service, waiting_names(draft)) == (False, None, ["CTAS_T_0"])


def test_a_new_query_of_a_paused_one_s_name_runs(tmp_path: Path) -> None:
    insert = "INSERT INTO s WITH (QUERY_ID='copies') SELECT id, n FROM r;"
    history = history_of(tmp_path, DECLARED, OTHER, insert, "PAUSE copies;", "TERMINATE copies;")
    assert names(accept(history, insert, tmp_path)[1]) == ["COPIES"]


def test_an_unknown_query_of_a_paused_job_is_reported(tmp_path: Path) -> None:
    history = history_of(tmp_path, DECLARED, COMPUTED, "PAUSE ALL;")
    with pytest.raises(SqlError, match="there is no query OTHER"):
        accept(history, "PAUSE other;", tmp_path)
    assert accept(history, "PAUSE CTAS_T_0;", tmp_path)[0].is_paused


def test_one_query_of_a_paused_job_resumes_alone(tmp_path: Path) -> None:
    history = history_of(tmp_path, DECLARED, OTHER, COMPUTED, OTHER_COMPUTED, "PAUSE ALL;")
    history, draft = accept(history, "RESUME CTAS_U_1;", tmp_path)
    assert (history.is_paused, names(draft), waiting_names(draft)) == (False, ["CTAS_U_1"], ["CTAS_T_0"])


@pytest.mark.parametrize(
    ("before", "text", "reason"),
    [
        (COMPUTED + COMPUTED.replace("TABLE t", "TABLE u"), "PAUSE CTAS_T_0;", "both use the topic s"),
        (COMPUTED + READER, "PAUSE CTAS_V_1;", "both use the topic T"),
        (COMPUTED + READER, "PAUSE CTAS_T_0;", "reads its result"),
        (COMPUTED + "INSERT INTO s SELECT id, n FROM r;", "PAUSE CTAS_T_0;", "both use the topic s"),
        (COMPUTED + OTHER_COMPUTED + "PAUSE CTAS_T_0;", COMPUTED.replace("TABLE t", "TABLE w"), "the topic s"),
        (COMPUTED + READER + "PAUSE ALL;", "RESUME CTAS_T_0;", "both use the topic T"),
    ],
    ids=["one topic", "a result", "its reader", "its writer", "a new query", "resumed alone"],
)
def test_a_query_that_could_not_continue_where_it_stopped_is_not_paused_alone(
    before: str, text: str, reason: str, tmp_path: Path
) -> None:
    history = history_of(tmp_path, DECLARED, OTHER, before)
    with pytest.raises(SqlError, match=r"line 1.*can't be paused while") as refused:
        accept(history, text, tmp_path)
    assert reason in str(refused.value)


def test_records_are_not_part_of_the_program(tmp_path: Path) -> None:
    history = history_of(tmp_path, f"{DECLARED} INSERT INTO s VALUES ('a', 1);")
    assert "VALUES" not in history.text


def test_unreadable_record_is_reported_with_its_offset() -> None:
    with pytest.raises(UnreadableChange, match="offset 7"):
        Change.decode(b"CREATE STREAM s", 7)


def test_an_aggregate_of_a_table_that_is_created_again_gets_the_rows_of_the_table(tmp_path: Path) -> None:
    history = history_of(tmp_path, ROWS + OF_ROWS.format("a") + OF_ROWS.format("b"), "DROP TABLE a;")
    _, draft = accept(history, OF_ROWS.format("a"), tmp_path)
    assert draft.filled.keys() == {"a.2", "b"}


def test_a_paused_aggregate_of_a_table_resumes(tmp_path: Path) -> None:
    history = history_of(tmp_path, DECLARED + COMPUTED + ROWS + OF_ROWS.format("a"), "PAUSE CTAS_A_1;")
    _, draft = accept(history, "RESUME CTAS_A_1;", tmp_path)
    assert draft.filled.keys() == {"a"}


def test_an_aggregate_can_be_created_again_with_its_table(tmp_path: Path) -> None:
    history = history_of(tmp_path, ROWS + OF_ROWS.format("a"), "DROP TABLE a; DROP TABLE r;")
    accept(history, ROWS + OF_ROWS.format("a"), tmp_path)


def test_statements_with_a_common_name_prefix_are_distinguished(tmp_path: Path) -> None:
    history = history_of(tmp_path, DECLARED + COMPUTED + ROWS + OF_ROWS.format("t2"), "PAUSE CTAS_T2_1;")
    other = "CREATE TABLE another AS SELECT id, MAX(n) AS n FROM s GROUP BY id;"
    _, draft = accept(history, "RESUME CTAS_T2_1;" + other.replace("another", "t_"), tmp_path)
    assert draft.filled.keys() == {"t2"}
