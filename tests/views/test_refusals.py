"""A file that does not contain a valid view is rejected with its name, the error, and the correction."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.views import Source, ViewError, load_views, views_topology
from tests.views.sources import READINGS, Measured, view

FORM = r"write CREATE MATERIALIZED VIEW name AS SELECT \.\.\. FROM source \[WHERE \.\.\.\] GROUP BY column"


def select(columns: str = "area, COUNT(*) AS n", rest: str = "FROM readings GROUP BY area") -> str:
    return f"CREATE MATERIALIZED VIEW v AS SELECT {columns} {rest}"


REFUSED = {
    "nothing": ("", r"0 statements in it: a file holds one"),
    "two statements": (f"{select()}; {select()}", "2 statements in it: a file holds one"),
    "a slip": (select("area, COUNT(* AS n"), rf"line 1, column \d+: .*: {FORM}"),
    "no SQL": ("views are nice", rf"{FORM}"),
    "a table": (select().replace("MATERIALIZED VIEW", "TABLE"), rf"it does not create a materialized view: {FORM}"),
    "a plain view": (select().replace("MATERIALIZED ", ""), "it does not create a materialized view"),
    "or replace": (select().replace("CREATE", "CREATE OR REPLACE"), "it does not create a materialized view"),
    "if not exists": (select().replace("VIEW v", "VIEW IF NOT EXISTS v"), "it does not create a materialized view"),
    "only a query": ("SELECT area FROM readings GROUP BY area", "it does not create a materialized view"),
    "emit changes": (
        select() + " EMIT CHANGES",
        rf"a part of it is not understood \(is there more behind GROUP BY\?\): {FORM}",
    ),
    "a schema": (select().replace("VIEW v", "VIEW a.v"), "a view is one SELECT under a plain name"),
    "columns after the name": (select().replace("VIEW v", "VIEW v (a, b)"), "a view is one SELECT under a plain name"),
    "a union": (f"{select()} UNION {select()[30:]}", "a view is one SELECT under a plain name"),
    "a bad name": (select().replace("VIEW v", 'VIEW "My-View"'), "'My-View' can't be the name of a view.*use a-z, 0-9"),
    "a bad column name": (select('area, COUNT(*) AS "N!"'), "'N!' can't be the name of a column: use a-z"),
    "a name of Python's": (
        select("area, COUNT(*) AS class"),
        "'class' can't be the name of a column: it means something",
    ),
    "the topic's name": (
        select().replace("VIEW v", "VIEW readings"),
        "the view has the name of the topic it reads, readings, and would read its own rows",
    ),
    "a number that is true": (
        select(rest="FROM readings WHERE level IS TRUE GROUP BY area"),
        r"WHERE level IS TRUE: write IS \[NOT\] NULL, or of a boolean IS \[NOT\] TRUE or FALSE",
    ),
    "having": (select() + " HAVING COUNT(*) > 1", "HAVING can't be in a view"),
    "order": (select() + " ORDER BY area", "ORDER BY can't be in a view"),
    "limit": (select() + " LIMIT 3", "LIMIT can't be in a view"),
    "distinct": (select().replace("SELECT", "SELECT DISTINCT"), "SELECT DISTINCT can't be in a view"),
    "a join": (select(rest="FROM readings JOIN other ON true GROUP BY area"), "JOIN can't be in a view"),
    "with": (select().replace("SELECT", "WITH x AS (SELECT 1) SELECT", 1), "WITH can't be in a view"),
    "no source": (select(rest="GROUP BY area"), "no FROM: this service's views select FROM readings"),
    "another source": (
        select(rest="FROM reading GROUP BY area"),
        "FROM reading: this service's views select FROM readings",
    ),
    "a source of a schema": (
        select(rest="FROM a.readings GROUP BY area"),
        "FROM a.readings: this service's views select FROM readings",
    ),
    "a window": (
        select(rest="FROM readings WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY area"),
        "WINDOW can't be in a view",
    ),
    "partitions": (select() + " PARTITION BY area", "PARTITION BY can't be in a view"),
    "a subquery": (select(rest="FROM (SELECT 1) AS readings GROUP BY area"), "this service's views select FROM"),
    "no group": (
        select(rest="FROM readings"),
        "no GROUP BY: say which column makes the rows, such as GROUP BY sensor",
    ),
    "a rollup": (select(rest="FROM readings GROUP BY ROLLUP (area)"), r"ROLLUP\(area\) stands where a column"),
    "all columns": (select(rest="FROM readings GROUP BY ALL"), r"write GROUP BY column \[, \.\.\.\]"),
    "grouped by a place": (select(rest="FROM readings GROUP BY 1"), "1 stands where a column of readings must"),
    "grouped by a number": (
        select("level, COUNT(*) AS n", "FROM readings GROUP BY level"),
        "GROUP BY level: it is a whole number, but keys are texts",
    ),
    "grouped twice": (select(rest="FROM readings GROUP BY area, area"), "GROUP BY names a column twice"),
    "an unknown column": (
        select("area, AVG(readng) AS mean"),
        r"readings has no column 'readng' \(did you mean reading\?\): it has sensor, area, note, reading, level",
    ),
    "a column of lists": (select("area, COUNT(tags) AS n"), "readings has no column 'tags'"),
    "an unknown qualifier": (select("area, AVG(x.reading) AS mean"), "x is not selected from: write reading"),
    "everything": (select("*"), r"\* can't be kept up to date"),
    "a key that is not selected": (
        select("COUNT(*) AS n"),
        "area is grouped by but not selected: a row must show its key: add area to SELECT",
    ),
    "a column that is not grouped by": (
        select("area, note, COUNT(*) AS n"),
        r"note is selected but not grouped by: add it to GROUP BY, or aggregate it, such as MAX\(note\) AS last_note",
    ),
    "nothing aggregated": (select("area"), r"the view has no aggregate: add one, such as COUNT\(\*\) AS number"),
    "two columns of one name": (
        select("area, COUNT(*) AS n, AVG(level) AS n"),
        "two columns are called n: give one another name, with AS",
    ),
    "a column called like a total": (
        select("area, AVG(level) AS n, COUNT(*) AS n_total"),
        "n_total is what the total of n is called: give the column another name",
    ),
    "a column called like a total, before it": (
        select("area, COUNT(*) AS n_total, AVG(level) AS n"),
        "n_total is what the total of n is called: give the column another name",
    ),
    "an aggregate without a name": (
        select("area, AVG(reading)"),
        r"AVG\(reading\) has no name: write AVG\(reading\) AS some_name",
    ),
    "an unsupported function": (
        select("area, STDDEV(reading) AS x"),
        r"STDDEV\(reading\) can't be kept up to date: use AVG, SUM, COUNT, MIN, MAX, each of one column",
    ),
    "an unknown function": (select("area, MEDIAL(reading) AS x"), r"MEDIAL\(reading\) can't be kept up to date"),
    "an expression": (select("area, AVG(reading) * 2 AS x"), r"AVG\(reading\) \* 2 can't be kept up to date"),
    "an aggregate of an expression": (
        select("area, AVG(reading * 2) AS x"),
        r"AVG\(reading \* 2\): AVG takes one column",
    ),
    "a filter": (select("area, COUNT(*) FILTER (WHERE valid) AS x"), "can't be kept up to date"),
    "over a window": (select("area, COUNT(*) OVER () AS x"), "can't be kept up to date"),
    "distinct values": (
        select("area, COUNT(DISTINCT sensor) AS x"),
        r"COUNT\(DISTINCT sensor\) can't be kept up to date without every value: leave DISTINCT out",
    ),
    "the average of texts": (select("area, AVG(note) AS x"), r"AVG\(note\): note is a text: AVG takes a number"),
    "the sum of booleans": (select("area, SUM(valid) AS x"), "valid is a boolean: SUM takes a number"),
    "the largest boolean": (select("area, MAX(valid) AS x"), "valid is a boolean: MAX takes a number or a text"),
    "an unknown column in where": (
        select(rest="FROM readings WHERE lvl > 1 GROUP BY area"),
        r"readings has no column 'lvl' \(did you mean level\?\)",
    ),
    "a text compared with a number": (
        select(rest="FROM readings WHERE area > 1 GROUP BY area"),
        "WHERE compares area, a text, with 1, a number: compare two of one kind",
    ),
    "a pattern": (
        select(rest="FROM readings WHERE area LIKE 'w%' GROUP BY area"),
        r"WHERE area LIKE 'w%': write comparisons \(=, <>",
    ),
    "arithmetic in where": (
        select(rest="FROM readings WHERE level + 1 > 2 GROUP BY area"),
        r"WHERE: level \+ 1 is neither a column nor a text, a number, true or false",
    ),
    "equal to null": (
        select(rest="FROM readings WHERE note = NULL GROUP BY area"),
        "WHERE: NULL is neither a column nor a text, a number, true or false: write IS NULL",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused(what: str) -> None:
    sql, message = REFUSED[what]
    with pytest.raises(ViewError, match=rf"^v\.sql: .*{message}"):
        view(sql)


def test_two_views_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "one.sql").write_text(select())
    (tmp_path / "two.sql").write_text(select())
    with pytest.raises(ViewError, match=r"two\.sql: the view v is also made by one\.sql: choose different names"):
        load_views(tmp_path, READINGS)


@pytest.mark.parametrize(
    ("names", "record", "other"),
    [
        (["measured"], "Measured", "the topic readings"),
        (["x", "measured_by_area"], "MeasuredByArea", "the repartition by-area"),
        (["x", "x_totals"], "XTotals", "the view x"),
    ],
)
def test_two_records_of_one_name_are_refused(tmp_path: Path, names: list[str], record: str, other: str) -> None:
    for name in names:
        (tmp_path / f"{name}.sql").write_text(select().replace("VIEW v", f"VIEW {name}"))
    views = load_views(tmp_path, READINGS)
    with pytest.raises(
        ViewError, match=rf"^{names[-1]}\.sql: .* needs the record {record}, which is that of {other}: give"
    ):
        views_topology(READINGS, views)


@pytest.mark.parametrize("key", ["level", "tags", "name"])
def test_a_source_whose_key_is_no_text_is_refused(key: str) -> None:
    with pytest.raises(ViewError, match=f"topic readings: Measured has no text '{key}': name a field of text"):
        Source("readings", Measured, key=key)


def test_a_folder_without_views_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(ViewError, match=r"the folder has no views: write each view into a file name\.sql"):
        load_views(tmp_path, READINGS)
    with pytest.raises(ViewError, match=r"the folder does not exist: create it"):
        load_views(tmp_path / "missing", READINGS)
