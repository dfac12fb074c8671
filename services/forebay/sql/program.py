"""The program that a sequence of statements declares, which consists of sources and the queries that derive others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from forebay.sql import altering, checks, evolution, inserting, options, pausing
from forebay.sql.administration import AlterSource, AssertSchema, AssertSource, AssertTopic, Define, RunScript
from forebay.sql.analyze import Analysis
from forebay.sql.catalog import Catalog, Source
from forebay.sql.errors import Place, SqlError
from forebay.sql.plan import QueryPlan
from forebay.sql.schemas.inference import Lookup
from forebay.sql.schemas.lookup import ask
from forebay.sql.statements import parse
from forebay.sql.syntax import (
    Command,
    CreateAs,
    CreateSource,
    CreateType,
    InsertInto,
    InsertValues,
    Select,
    SetProperty,
    Statement,
)
from forebay.sql.tokens import TOO_DEEP
from forebay.sql.variables import Variables
from forebay.sql.widening import widen_step

SETTINGS = {
    "ksql.output.topic.name.prefix": "before the names of output topics",
    "ksql.persistence.default.format.key": "format of keys if KEY_FORMAT is not set",
    "ksql.persistence.default.format.value": "format of values if VALUE_FORMAT is not set",
    "ksql.persistence.wrap.single.values": "whether a single column is a field if WRAP_SINGLE_VALUE is not set",
    "ksql.functions.collect_list.limit": "how many values COLLECT_LIST keeps of a group",
    "ksql.functions.collect_set.limit": "how many values COLLECT_SET keeps of a group",
    "ksql.query.pull.table.scan.enabled": "whether pull queries without a key are answered; true if it is not set",
    "ksql.query.pull.range.scan.enabled": "whether those by a range of keys are answered where others are refused",
    "ksql.query.pull.limit.clause.enabled": "whether pull queries with LIMIT are answered; true if it is not set",
    "auto.offset.reset": "where a job that never ran begins to read",
}
"""Settings of SET that have an effect."""

INSTEAD = {
    "PRINT": "send it to a query server, or use `forebay tail TOPIC`",
    "TERMINATE": "the queries of a file run as one job: stop that, or leave the query out of its file",
}
"""Replacements for commands that are not supported here."""
_SHOWN = ("SHOW", "DESCRIBE", "DESCRIBE FUNCTION", "EXPLAIN", "PRINT")
"""Commands that only show something. A file that runs as a job may contain them."""


@dataclass(slots=True)
class Program:
    """The sources and queries that a sequence of statements declares.

    Args:
        queries: Persistent queries in the order of their statements.
        selects: Standalone queries, which are answered once the persistent queries run.
        inserts: Records to send once, before the persistent queries run.
        settings: Properties of SET.
        warnings: Statements without effect, with their places.
        assertions: Assertions about topics, which are checked when the job starts.
        variables: Variables of DEFINE.
        paused: Places of the PAUSE statements, by name of the paused query.
        waiting: Paused queries. `check` moves them here from `queries`.
        lookup: Returns the schemas of topics whose columns are not declared.
        ended: Number of queries that were dropped or terminated, by base label. 0: a source of this name was dropped.
    """

    catalog: Catalog = field(default_factory=Catalog)
    queries: list[QueryPlan] = field(default_factory=list)
    selects: list[Select] = field(default_factory=list)
    inserts: list[InsertValues] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    assertions: list[AssertTopic] = field(default_factory=list)
    variables: Variables = field(default_factory=Variables)
    paused: dict[str, Place] = field(default_factory=dict)
    waiting: list[QueryPlan] = field(default_factory=list)
    lookup: Lookup = ask
    ended: dict[str, int] = field(default_factory=dict)
    _numbered: int = 0
    _dropped: dict[str, SqlError] = field(default_factory=dict)

    def copy(self) -> Program:
        """Return a copy, to which statements can be added without changing this program."""
        return replace(
            self,
            catalog=self.catalog.copy(),
            queries=list(self.queries),
            selects=list(self.selects),
            inserts=list(self.inserts),
            settings=dict(self.settings),
            warnings=list(self.warnings),
            assertions=list(self.assertions),
            variables=Variables(dict(self.variables.values)),
            paused=dict(self.paused),
            waiting=list(self.waiting),
            ended=dict(self.ended),
            _dropped=dict(self._dropped),
        )

    def add(self, statement: Statement) -> None:
        """Add a statement. Raises SqlError."""
        match statement:
            case CreateSource():
                self._create(statement)
            case CreateAs():
                self._create_as(statement)
            case InsertInto():
                self._insert(statement)
            case InsertValues():
                inserting.check_values(statement, self.catalog)
                self.inserts.append(statement)
            case Select():
                self.selects.append(statement)
            case CreateType(name, kind):
                self.catalog.types[name] = kind
            case SetProperty(name, value):
                self._set(statement, name, value)
            case Command(verb, subject) as command:
                self._command(command, verb, subject)
            case _:
                self._administer(statement)

    def _administer(self, statement: Statement) -> None:
        match statement:
            case AlterSource():
                self._add(altering.alter(statement, self.catalog), replaces=True)
            case AssertSource():
                altering.check_declaration(statement, self.catalog, self.settings, self.lookup)
            case AssertSchema():
                altering.check_schema(statement, self.lookup)
            case AssertTopic():
                self.assertions.append(statement)
            case Define(name, value):
                self.variables.set(name, value)
            case RunScript():
                raise SqlError(statement.place, "RUN SCRIPT is for files and the shell: send the file's statements")

    def _create(self, statement: CreateSource) -> None:
        if statement.if_not_exists and self.catalog.find(statement.name):
            return
        if statement.or_replace and statement.is_read_only:
            raise SqlError(statement.place, "CREATE SOURCE can't replace a declaration: leave OR REPLACE out")
        writers = (query.target for query in self.queries)
        self._add(options.declare(statement, self.settings, self.lookup, writers), replaces=statement.or_replace)

    def _add(self, source: Source, *, replaces: bool) -> None:
        """Add a source. If it replaces a source, queries of the old source use the new one. Raises SqlError."""
        old = self.catalog.find(source.name) if replaces else None
        if old is not None and (old.is_read_only or source.is_read_only):
            raise SqlError(source.place, evolution.read_only(old if old.is_read_only else source, "OR REPLACE"))
        if old is not None:
            evolution.check_replacement(old, source)
            if source.is_derived:
                self.queries = [query for query in self.queries if query.is_insert or query.target != old]
            evolution.check_inserts(source, old, self.queries)
            self.queries = [evolution.with_source(query, old, source) for query in self.queries]
        self.catalog.add(source, replaces=replaces)
        self._dropped.pop(source.name, None)

    def _append(self, query: QueryPlan) -> None:
        """Add a query. Raises SqlError if the query would read its own output, directly or through other queries."""
        evolution.check_circles(query, self.queries)
        self.queries.append(replace(query, ended_before=self.ended.get(query.base_label, 0)))
        # An earlier query with this name may have been paused and then dropped.
        self.paused.pop(query.name, None)
        self._numbered += 1

    def _create_as(self, statement: CreateAs) -> None:
        if statement.if_not_exists and self.catalog.find(statement.name):
            return
        checks.check_limit(statement.query)
        chosen = options.check_options(statement.options, statement.place)
        analysis = Analysis(statement.query, self.catalog, options.key_format(chosen), self.settings)
        step, keys, values, relation = analysis.project()
        checks.check_types(statement.query, (*keys, *values))
        kind = "TABLE" if relation.is_table else "STREAM"
        if relation.is_table != statement.is_table:
            raise SqlError(
                statement.place, f"this query returns a {kind}: write CREATE {kind} {statement.name} AS SELECT"
            )
        if relation.is_table and not keys:
            raise SqlError(statement.place, "a table needs a key: select it")
        target = options.target(
            statement,
            chosen,
            self.settings,
            analysis.first,
            (keys, values),
            relation.windowing,
            analysis.key_format if keys else relation.format,
            self.lookup,
            is_framed=relation.is_framed,
        )
        self._add(target, replaces=statement.or_replace)
        name = f"{'CTAS' if statement.is_table else 'CSAS'}_{statement.name}_{self._numbered}"
        self._append(QueryPlan(name, step, target, relation.is_table, statement.text, place=statement.place))

    def _insert(self, statement: InsertInto) -> None:
        target = self.catalog.get(statement.name, statement.place)
        if target.is_read_only:
            raise SqlError(statement.place, evolution.read_only(target, "INSERT INTO"))
        if target.is_table:
            raise SqlError(statement.place, f"{target.name} is a table: INSERT INTO takes a stream")
        if target.headers:
            raise SqlError(statement.place, f"{target.name} has columns of headers: INSERT INTO can't write those")
        checks.check_limit(statement.query)
        analysis = Analysis(statement.query, self.catalog, target.encoding.key_kind, self.settings)
        step, keys, values, relation = analysis.project()
        if relation.is_table:
            raise SqlError(statement.place, "this query returns a TABLE: INSERT INTO takes the rows of a stream")
        for ours, theirs, what in ((keys, target.keys, "key"), (values, target.values, "value")):
            checks.check_columns(statement, ours, theirs, what)
        step = widen_step(step, keys, target, relation)
        name = statement.query_id or f"INSERTQUERY_{self._numbered}"
        if any(query.name == name for query in self.queries):
            raise SqlError(statement.place, f"the query {name} exists already: give this one another QUERY_ID")
        self._append(QueryPlan(name, step, target, False, statement.text, is_insert=True, place=statement.place))

    def _set(self, statement: Statement, name: str, value: str | None) -> None:
        if name not in SETTINGS:
            known = f"those that have one are {', '.join(SETTINGS)}"
            self.warnings.append(f"{statement.place}: the setting {name} has no effect here: {known}")
        elif value is None:
            self.settings.pop(name, None)
        else:
            self.settings[name] = value

    def _command(self, statement: Command, verb: str, subject: str) -> None:
        if verb in _SHOWN:
            self.warnings.append(f"{statement.place}: {verb} shows nothing when a file runs: use it in the shell")
        elif verb in ("PAUSE", "RESUME"):
            pausing.pause(self.paused, self.queries, subject.upper(), statement.place, resumes=verb == "RESUME")
        elif verb == "TERMINATE":
            self._terminate(evolution.terminate(self.queries, subject.upper(), statement.place))
        else:
            self._drop(statement, verb, subject)

    def _terminate(self, ended: list[QueryPlan]) -> None:
        """Remove queries. Their results remain declared, as sources over the topics that they wrote."""
        self._end(ended)
        for query in ended:
            if not query.is_insert and query.target in self.catalog:
                self.catalog.add(replace(query.target, is_derived=False), replaces=True)

    def _end(self, ended: Sequence[QueryPlan]) -> None:
        self.queries = [query for query in self.queries if query not in ended]
        for label in {query.base_label for query in ended}:
            self.ended[label] = self.ended.get(label, 0) + 1

    def _drop(self, statement: Command, verb: str, subject: str) -> None:
        if verb == "DROP TYPE":
            self.catalog.types.pop(subject, None)
            return
        dropped = self.catalog.find(subject)
        if dropped is None and statement.if_exists:
            return
        dropped = dropped or self.catalog.get(subject, statement.place)
        kind = "TABLE" if dropped.is_table else "STREAM"
        if verb not in (f"DROP {kind}", "DROP VIEW"):
            raise SqlError(statement.place, f"{subject} is a {kind}: write DROP {kind} {subject}")
        if dropped.is_read_only and statement.deletes_topic:
            raise SqlError(statement.place, evolution.read_only(dropped, "DELETE TOPIC"))
        used = evolution.users(dropped, self.queries)
        if used:
            refused = evolution.drop_refused(dropped, used, statement.place)
            if dropped.is_derived:
                raise refused
            self._dropped[subject] = refused
        self.catalog.drop(subject, statement.place)
        self.ended.setdefault(subject, 0)
        if dropped.is_derived:
            self._end([query for query in self.queries if query.target == dropped])

    def check(self) -> None:
        """Move paused queries to `waiting`. Raises SqlError if a dropped source is used and was not declared again.

        If another declaration has the name of the dropped source, earlier queries read the topic of the former one.
        """
        for refused in self._dropped.values():
            raise refused
        self.queries, self.waiting = pausing.split_paused(self.paused, self.queries, self.catalog)


def program_of(text: str, file: str = "", settings: dict[str, str] | None = None, lookup: Lookup = ask) -> Program:
    """Return the program that a text declares. Raises SqlError."""
    return program_of_statements(parse(text, file), settings, lookup)


def program_of_statements(
    statements: Iterable[Statement], settings: dict[str, str] | None = None, lookup: Lookup = ask
) -> Program:
    """Return the program that parsed statements declare. Raises SqlError."""
    program = Program(settings=dict(settings or {}), lookup=lookup)
    for statement in statements:
        try:
            program.add(statement)
        except RecursionError as error:
            raise SqlError(statement.place, f"the statement {TOO_DEEP}") from error
    program.check()
    return program
