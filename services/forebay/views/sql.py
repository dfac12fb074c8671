"""A view's SQL: CREATE MATERIALIZED VIEW name AS SELECT ... FROM source [WHERE ...] GROUP BY column [, ...].

The statement and its plan are those of forebay.sql. Views of services support only a part of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from forebay.sql.errors import SqlError
from forebay.sql.plan import QueryPlan
from forebay.sql.program import Program
from forebay.sql.statements import parse
from forebay.sql.syntax import CreateAs
from forebay.sql.tokens import TOO_DEEP, Token, tokens_of
from forebay.views.form import FORM, FUNCTIONS, Form
from forebay.views.model import Source, View, ViewError
from forebay.views.where import check

_CLAUSES = {"JOIN": "JOIN", "WITH": "WITH", "HAVING": "HAVING", "ORDER": "ORDER BY", "LIMIT": "LIMIT"}


def parse_view(sql: str, file: str, source: Source) -> View:
    """Return the view that the text of a file defines.

    Args:
        file: name of the file, for messages.
        source: the only source that it may select from.

    Raises:
        ViewError: it is not a view, or a view of another source.
    """
    form = Form(file, source)
    statement = _statement(sql, form)
    select, groups, group_by = form.check(statement)
    if statement.query.where is not None:
        check(statement.query.where, form)
    try:
        view = View(file, source, _plan(statement, source), select, groups, group_by)
        view.where  # noqa: B018 (reports now what can't be compiled)
    except SqlError as error:
        form.fail(error.reason)
    except (RecursionError, MemoryError, SyntaxError):  # Python's own limits of what it compiles
        form.fail(f"the statement {TOO_DEEP}")
    return view


def _statement(sql: str, form: Form) -> CreateAs:
    """Return the only statement of a text. Raises ViewError."""
    try:
        words = tokens_of(sql, form.file)
        _check_words(words, sql, form)
        statements = parse(sql, form.file, lower=True)
    except SqlError as error:
        raise ViewError(
            f"{form.file}: line {error.place.line}, column {error.place.column}: {error.reason}: "
            f"a view is one SELECT under a plain name: {FORM}"
        ) from error
    if len(statements) != 1:
        form.fail(f"{len(statements)} statements in it: a file holds one, {FORM}")
    (statement,) = statements
    if not isinstance(statement, CreateAs) or statement.if_not_exists:
        form.fail(f"it does not create a materialized view: {FORM}, and nothing else")
    return statement


def _check_words(words: Sequence[Token], sql: str, form: Form) -> None:
    """Refuse clauses that views do not support, with better messages than the parser's."""
    texts = [word.text if word.kind in ("word", "symbol") else "" for word in words]
    if len(words) > 1 and texts[:3] != ["CREATE", "MATERIALIZED", "VIEW"]:
        form.fail(f"it does not create a materialized view: {FORM}, and nothing else")
    for at, text in enumerate(texts):
        before, behind = texts[at - 1], texts[at + 1 : at + 2]
        if text in _CLAUSES:
            form.fail(f"{_CLAUSES[text]} can't be in a view: {FORM}")
        if text == "DISTINCT" and before == "SELECT":
            form.fail(f"SELECT DISTINCT can't be in a view: {FORM}")
        if text == "DISTINCT" and before == "(":
            call = sql[words[at - 2].start : _closing(words, at - 1).stop]
            form.fail(f"{call} can't be kept up to date without every value: leave DISTINCT out")
        if text in ("FILTER", "OVER") and before == ")" and behind == ["("]:
            call = f"{text} {sql[words[at + 1].start : _closing(words, at + 1).stop]}"
            form.fail(f"an aggregate with {call} can't be kept up to date: use {', '.join(FUNCTIONS)} alone")
        if text == "FROM" and behind == ["("]:
            form.wrong_source("FROM (...)")
        if text == "FROM" and texts[at + 2 : at + 3] == ["."]:
            form.wrong_source(f"FROM {sql[words[at + 1].start : words[at + 3].stop]}")
        if text == "ALL" and before == "BY":
            form.fail("GROUP BY ALL: write GROUP BY column [, ...]")
    if len(words) > 1 and "FROM" not in texts:
        form.wrong_source("no FROM")


def _closing(words: Sequence[Token], at: int) -> Token:
    """Return the bracket that closes another one, or the last word."""
    depth = 0
    for word in words[at:]:
        depth += {"(": 1, ")": -1}.get(word.text, 0) if word.kind == "symbol" else 0
        if not depth:
            return word
    return words[-1]


def _plan(statement: CreateAs, source: Source) -> QueryPlan:
    program = Program()
    program.catalog.add(source.declared)
    program.add(statement)
    return program.queries[0]
