"""Checks the statements of a request together with all accepted ones, before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from forebay.builder.compiled import CompiledSubTopology
from forebay.builder.filled import FilledStore, filled_stores
from forebay.catalog import Service
from forebay.formats.identities import Misread
from forebay.job import Job
from forebay.live.history import Change, History
from forebay.live.switches import check_switches, switch
from forebay.runtime.changelog.sub_topology_log import sub_topology_log
from forebay.sql.administration import AssertSchema, AssertSource, AssertTopic, Define
from forebay.sql.compile import Compiler
from forebay.sql.errors import Place, SqlError
from forebay.sql.evolution import reads
from forebay.sql.extension.loading import load_functions
from forebay.sql.program import SETTINGS, Program, program_of_statements
from forebay.sql.schemas.lookup import Kept
from forebay.sql.service import job_of, service_of
from forebay.sql.statements import parse
from forebay.sql.syntax import Command, CreateAs, InsertValues, SetProperty, Statement
from forebay.sql.types import SqlType
from forebay.stores.layouts import (
    Layout,
    decode_layout,
    encode_layout,
    key_formats_of,
    layout_of,
    merge_layouts,
)
from forebay.stores.upgrade import describe_store

_ONLY_PUSHES = "auto.offset.reset"


@dataclass(frozen=True, slots=True)
class Draft:
    """A valid program.

    Args:
        service, job: service and job of its queries; None: it has no queries.
        stores: declarations of the stores, by name.
        filled: stores that must get all rows of a table, by name.
    """

    program: Program
    service: Service | None
    job: Job | None
    stores: dict[str, str]
    filled: dict[str, FilledStore] = field(default_factory=dict)

    @classmethod
    def empty(cls) -> Draft:
        """Return the program without statements."""
        return cls(Program(), None, None, {})

    def has_same_queries(self, other: Draft) -> bool:
        """Return whether the job of another program computes the same.

        Plans contain functions, which are never equal, so plans are compared as text.
        """
        return self.stores == other.stores and self._queries() == other._queries()

    def pauses(self, other: Draft) -> bool:
        """Return whether another program pauses a query that is not paused in this one."""
        return not {query.name for query in self.program.waiting} <= {query.name for query in other.program.waiting}

    def _queries(self) -> list[tuple[object, ...]]:
        return [
            (query.name, query.text, query.target, reads(query), tuple(query.lines())) for query in self.program.queries
        ]


def parse_request(text: str, history: History, file: Path) -> tuple[list[Statement], list[Statement]]:
    """Return the accepted statements and those of a request, which may use the accepted types. Raises SqlError."""
    load_functions()
    types: dict[str, SqlType] = {}
    return parse(history.text, file.name, types), parse(text, "", types)


def draft_of(statements: Sequence[Statement], file: Path) -> Draft:
    """Return the program of statements.

    Args:
        file: file for the statements. The schemas of topics are stored next to it.

    Raises:
        SqlError: a statement can't run with the others.
    """
    lookup = Kept(file)
    program = program_of_statements(statements, lookup=lookup)
    if not program.queries:
        return Draft(program, None, None, {})
    Compiler(program_of_statements(statements, lookup=lookup)).run()
    job = job_of(list(statements), lookup)
    return Draft(program, service_of(file, list(statements), job, lookup), job, _stores_of(job), _filled_of(job))


def draft_with(
    before: Sequence[Statement], added: Sequence[Statement], history: History, file: Path
) -> tuple[Draft, list[Statement], bool]:
    """Return the program after a request, the statements that the request adds, and whether the job is paused.

    Args:
        before: the statements that were accepted earlier, parsed from `history`.

    Raises:
        SqlError: a statement can't run with the others.
    """
    lasting, is_paused = switch(added, is_paused=history.is_paused)
    draft = draft_of([*before, *lasting], file)
    check_switches(draft.program, added, lasting)
    return draft, lasting, is_paused


def check_stores(draft: Draft, history: History, added: Sequence[Statement]) -> None:
    """Raise SqlError for a store whose existing rows have another declaration."""
    for name, declared in draft.stores.items():
        try:
            _merge_declared(history.stores.get(name), declared)
        except Misread as error:
            raise SqlError(
                _place_of(name, added),
                f"the store {name} {error}: the job would misread them. Give the result another "
                "name, which begins without rows, or write the statement with its columns and "
                "aggregates as they were",
            ) from None


def check_added(draft: Draft, history: History, added: Sequence[Statement]) -> None:
    """Raise SqlError for an added aggregate or join of a table whose rows or changes it would lack."""
    before = history.changes[-1].stores if history.changes else {}
    for name, filled in draft.filled.items():
        # The stores of a paused query are not those of the job either, but no running query changes its tables.
        if name in before or not _statements_of(name, added):
            continue
        dropped = [number for number, change in enumerate(history.changes) if name in change.stores][-1:]
        later = [change.stores for number in dropped for change in history.changes[number + 1 :]]
        if any(table in stores for stores in later for table in filled.tables):
            raise SqlError(
                _place_of(name, added),
                f"the store {name} was kept when its statement was replaced, but lacks the later changes of the "
                "table. Drop the result and create it again: it then begins with the table's present rows",
            )
        if not filled.can_be_added and filled.tables[0] in before:
            raise SqlError(
                _place_of(name, added),
                f"the store {name} would lack the rows that the table {filled.tables[0]} has, because these are not "
                "stored by key. Run the statements in another engine, which reads the topics from the beginning",
            )


def change_of(added: Sequence[Statement], draft: Draft, history: History, schemas: str, *, is_paused: bool) -> Change:
    """Return the change that statements make. Raises SqlError if one can't be carried out."""
    lines: list[str] = []
    settings: dict[str, None] = {}
    for statement in added:
        if isinstance(statement, Command) and statement.deletes_topic:
            raise SqlError(
                statement.place,
                "an engine does not support DELETE TOPIC: write DROP without it, then delete "
                "the topic with Kafka's tools",
            )
        if isinstance(statement, AssertTopic):
            raise SqlError(
                statement.place,
                "ASSERT TOPIC is for files: write SHOW TOPICS",
            )
        if isinstance(statement, InsertValues | AssertSource | AssertSchema | Define):
            continue  # settings of a single request are not part of the program
        if isinstance(statement, SetProperty):
            if statement.name not in SETTINGS or statement.name == _ONLY_PUSHES:
                continue
            settings[statement.name] = None
        lines.append(f"{statement.text};")
    lines += [f"UNSET '{name}';" for name in settings]
    before = history.stores
    stores = {name: _merge_declared(before.get(name), declared) for name, declared in draft.stores.items()}
    return Change("\n".join(lines), is_paused, stores, schemas)


def _stores_of(job: Job) -> dict[str, str]:
    settings = job.settings()
    logs = (
        sub_topology_log("", sub_topology, job.logic(sub_topology)(settings))
        for sub_topology in range(len(job.topology))
    )
    return {
        store.name: _describe(describe_store(store), layout_of(store, key_formats_of(log.processor)))
        for log in logs
        for store in log.stores
    }


def _filled_of(job: Job) -> dict[str, FilledStore]:
    settings = job.settings()
    processors = [job.logic(sub_topology)(settings) for sub_topology in range(len(job.topology))]
    return {
        store: filled
        for processor in processors
        if isinstance(processor, CompiledSubTopology)
        for store, filled in filled_stores(processor.nodes).items()
    }


def _describe(kind: str, layout: Layout) -> str:
    return f"{kind}\n{encode_layout(layout).decode()}"


def _merge_declared(recorded: str | None, declared: str) -> str:
    """Return the declaration of a store with rows of both declarations.

    Raises:
        Misread: the declared store can't read the rows.
    """
    if recorded is None:
        return declared
    (kind, _, before), (wanted, _, now) = recorded.partition("\n"), declared.partition("\n")
    if kind != wanted:
        raise Misread(f"holds rows of {kind}, but is declared with {wanted}")
    # Earlier builds recorded columns, or nothing.
    layout = decode_layout(before.encode()) if before else {}
    return _describe(kind, merge_layouts(layout, decode_layout(now.encode())))


def _statements_of(store: str, added: Sequence[Statement]) -> list[CreateAs]:
    def writes(name: str) -> bool:
        result = name.lower().replace("_", "-")
        return store == result or store.startswith((f"{result}-", f"{result}."))

    return [statement for statement in added if isinstance(statement, CreateAs) and writes(statement.name)]


def _place_of(store: str, added: Sequence[Statement]) -> Place:
    return next((statement.place for statement in _statements_of(store, added)), added[0].place)
