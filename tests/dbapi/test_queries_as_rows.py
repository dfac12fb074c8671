"""The DB-API driver returns the response of `POST /sql` as rows with Python's types."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest

from forebay import dbapi
from forebay.http.server import HttpServer
from forebay.platform.ports import HOST
from forebay.queries.gate import Gate
from forebay.queries.sql_pages import SqlPages
from forebay.sql.queryable import queryable
from tests.sql.driven import Driven, stream
from tests.sql.test_queries import DrivenStores

STATEMENTS = stream("id STRING KEY, n INT, d DOUBLE, price DECIMAL(10, 2)") + (
    "CREATE TABLE t AS SELECT id, COUNT(*) AS c, SUM(n) AS total, AVG(d) AS mean, SUM(price) AS price, "
    "COLLECT_LIST(d) AS all_d FROM s GROUP BY id;"
)
TOKEN = "0123456789abcdef"


@pytest.fixture
def server() -> Iterator[str]:
    driven = Driven(STATEMENTS, tasks=1)
    for at, (key, n) in enumerate([("a", 1), ("it's", 2), ("a", 3)]):
        driven.send("in", key, {"N": n, "D": n / 2, "PRICE": "1.10"}, at)
    pages = SqlPages(queryable(lambda: driven.program), lambda: DrivenStores(driven), None)  # type: ignore[arg-type, return-value]
    gate = Gate(TOKEN.encode())
    http = HttpServer(lambda request: gate.refusal(request) or pages.answer(request), HOST, 0)
    yield f"http://{HOST}:{http.port}"
    http.close()


@pytest.fixture
def connection(server: str) -> Iterator[dbapi.Connection]:
    with dbapi.connect(server, TOKEN) as connection:
        yield connection


def test_rows_have_the_columns_types(connection: dbapi.Connection) -> None:
    cursor = connection.cursor().execute("SELECT * FROM t WHERE id = ?", ["a"])
    assert cursor.fetchall() == [("a", 2, 4, 1.0, Decimal("2.20"), [0.5, 1.5])]
    assert cursor.description is not None
    names = [(name, kind) for name, kind, *_ in cursor.description]
    assert names[:4] == [("ID", "STRING"), ("C", "BIGINT"), ("TOTAL", "INTEGER"), ("MEAN", "DOUBLE")]
    assert {len(column) for column in cursor.description} == {7}


def test_parameters_are_values_and_never_sql(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    assert cursor.execute("SELECT c FROM t WHERE id = ?;", ["it's"]).fetchall() == [(1,)]
    assert cursor.execute("SELECT c FROM t WHERE id = ?;", ["x' OR 'a' = 'a"]).fetchall() == []
    assert cursor.execute("SELECT c FROM t WHERE id IN (?, ?) AND c -? > ?", ["a", "b", -1, 2.5]).fetchall() == [
        (2 + 0,)
    ]
    assert cursor.execute("SELECT '?' AS q, c FROM t WHERE id = ? -- ?", ["a"]).fetchall() == [("?", 2)]


def test_rows_are_read_in_pieces(connection: dbapi.Connection) -> None:
    cursor = connection.cursor().execute("SELECT id FROM t;")
    assert cursor.fetchone() is not None
    assert len(cursor.fetchmany(5)) == 1
    assert cursor.fetchone() is None
    assert cursor.fetchmany() == []
    assert sorted(connection.cursor().execute("SELECT id FROM t;")) == [("a",), ("it's",)]
    assert connection.cursor().execute("SHOW TABLES;").fetchall()


@pytest.mark.parametrize(
    ("sql", "parameters", "reason"),
    [
        ("SELECT nothing FROM t;", [], "there is no column NOTHING"),
        ("SELEC", [], "SELEC"),
        ("SELECT c FROM t WHERE id = ?", [], "1 places for parameters .*, but 0 values"),
        ("SELECT c FROM t WHERE id = ?", ["a", "b"], "but 2 values"),
        ("SELECT c FROM t WHERE id = ?", "a", "a list or tuple"),
        ("SELECT c FROM t WHERE id = ?", [object()], "can't be a parameter"),
        ("SELECT c FROM t WHERE id = ?", [float("nan")], "can't be a parameter"),
        ("SELECT c FROM t WHERE id = ?", [{"a": 1}], "can't be a parameter"),
    ],
)
def test_a_wrong_statement_is_a_programming_error(
    connection: dbapi.Connection, sql: str, parameters: list[object], reason: str
) -> None:
    with pytest.raises(dbapi.ProgrammingError, match=reason):
        connection.cursor().execute(sql, parameters)


def test_a_server_that_refuses_or_is_away_is_an_operational_error(server: str) -> None:
    with pytest.raises(dbapi.OperationalError, match="token"):
        dbapi.connect(server, "wrong").cursor().execute("SELECT c FROM t;")
    with pytest.raises(dbapi.OperationalError, match="can't be reached"):
        dbapi.connect("http://127.0.0.1:1").cursor().execute("SELECT c FROM t;")
    with pytest.raises(dbapi.InterfaceError, match="http://HOST:PORT"):
        dbapi.connect("127.0.0.1:7070")


def test_what_is_closed_takes_no_statement(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    with pytest.raises(dbapi.InterfaceError, match="call execute first"):
        cursor.fetchone()
    cursor.close()
    with pytest.raises(dbapi.InterfaceError, match="the cursor is closed"):
        cursor.execute("SELECT c FROM t;")
    connection.commit()
    with pytest.raises(dbapi.NotSupportedError, match="rollback is not supported"):
        connection.rollback()
    connection.close()
    with pytest.raises(dbapi.InterfaceError, match="the connection is closed"):
        connection.cursor()


@pytest.mark.filterwarnings("ignore:pandas only supports SQLAlchemy")
def test_pandas_reads_a_store(connection: dbapi.Connection) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_sql("SELECT id, c, mean FROM t WHERE c >= ?", connection, params=[2])
    assert frame.to_dict("records") == [{"ID": "a", "C": 2, "MEAN": 1.0}]
