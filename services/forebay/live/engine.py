"""The engine, which accepts statements, stores them, and runs their job."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Any

from forebay.catalog import Service
from forebay.codec import Unavailable
from forebay.kafka.errors import KafkaRefused, RegistryRefused
from forebay.kafka.registry import shared_registry
from forebay.kafka.settings import KafkaSettings
from forebay.live.draft import (
    Draft,
    change_of,
    check_added,
    check_stores,
    draft_of,
    draft_with,
    parse_request,
)
from forebay.live.history import Change, History
from forebay.live.keeper import JobKeeper
from forebay.live.log import StatementLog
from forebay.live.serving import Serving
from forebay.live.status import CachedLag, status_of
from forebay.live.topics import create_declared
from forebay.live.unread import adds_formats, edits_formats, refuse_unread
from forebay.queries.sending import Outgoing
from forebay.queries.server import QueryServer
from forebay.runtime.driver.broker_lag import read_lag
from forebay.serde.subjects import connect
from forebay.sql.errors import Place
from forebay.sql.inserting import record_of
from forebay.sql.program import Program
from forebay.sql.schemas.lookup import Kept
from forebay.sql.service import VARIABLE
from forebay.sql.syntax import InsertValues, SetProperty, Statement
from forebay.utils.private import make_private_directory

log = logging.getLogger(__name__)

_RESULTS = {
    "CREATE": "created",
    "INSERT": "inserted",
    "DROP": "dropped",
    "TERMINATE": "terminated",
    "PAUSE": "paused",
    "RESUME": "resumed",
}


@dataclass(frozen=True, slots=True)
class Accepted:
    """The result of a statement.

    Args:
        result: description of the result.
    """

    statement: str
    result: str


class Engine:
    """Runs the statements of one application.

    Args:
        directory: directory of the files of statements that the job reads, one per change.
        create: creates the topics of a service that do not exist. Raises TopicsUnfit, Unavailable.
        keeper: runs the job.
    """

    def __init__(
        self,
        kafka: KafkaSettings,
        application: str,
        directory: Path,
        create: Callable[[Service], None],
        keeper: JobKeeper,
    ) -> None:
        self._kafka = kafka
        self._application = application
        self._directory = directory
        self._create = create
        self._keeper = keeper
        self._log = StatementLog(kafka, application)
        self._lag = CachedLag(partial(read_lag, kafka, application))
        self._lock = threading.Lock()
        self._history = History()
        self._number = 0
        self._file = directory / f"{application}.sql"
        self._draft = Draft.empty()
        self._serving: Serving | None = None
        self._answered = self._draft
        """The program of the query server."""
        self._is_current = False
        """Whether the history contains all accepted changes, and the job was set to it."""
        connect(shared_registry(kafka.registry()))

    def start(self) -> None:
        """Read the statements that were accepted earlier, and run their job.

        Raises:
            JobOfFiles, UnreadableChange, Unavailable. SqlError: an accepted statement is no longer valid.
        """
        with self._lock:
            self._read()
            self._keeper.start()
            for former in self._directory.glob("[0-9]*"):
                rmtree(former, ignore_errors=True)
            self._catch_up()

    def close(self) -> None:
        """Stop the job and the queries."""
        with self._lock:
            self._keeper.close()
            if self._serving is not None:
                self._serving.close()

    @property
    def draft(self) -> Draft:
        """The program as of the last change."""
        return self._draft

    @property
    def serving(self) -> Serving | None:
        """The query server of the job's stores; None: there is no job, or its query server can't start yet."""
        return self._serving

    @property
    def state(self) -> str:
        """What the job does now, in words."""
        if not self._is_current:
            return "changing"
        return "paused" if self._history.is_paused else self._keeper.state

    def status(self) -> dict[str, Any]:
        """Return the queries, their lag, and the job's unexpected ends, as JSON."""
        return status_of(self._application, self.state, self._draft.program, self._lag, list(self._keeper.ends))

    def check(self) -> None:
        """Check whether another engine has taken over, and retry failed steps of accepted statements.

        Raises:
            Replaced: another engine has taken over. JobOfFiles, UnreadableChange, SqlError: see `start`.
        """
        with self._lock:
            with suppress(Unavailable):
                self._log.check()
            self._catch_up()

    def program(self) -> Program:
        """Return a new copy of the program as of the last change."""
        statements, _ = parse_request("", self._history, self._file)
        return draft_of(statements, self._file).program

    def parse(self, text: str) -> list[Statement]:
        """Return the statements of a request, which may use the types that were created. Raises SqlError."""
        return parse_request(text, self._history, self._file)[1]

    def apply(self, text: str) -> list[Accepted]:
        """Carry out all statements or none. Return the result of each.

        Raises:
            SqlError, TopicsUnfit, EncodeError: a statement is wrong. Nothing was changed.
            Replaced: another engine has taken over. Unavailable: the broker or the registry does not answer.
        """
        with self._lock:
            if not self._log.is_open:
                self._read()
            if not self._is_current:
                self._run_job()
            return self._apply(text)

    def _apply(self, text: str) -> list[Accepted]:
        before, added = parse_request(text, self._history, self._file)
        file = self._write(self._history)
        try:
            draft, statements, is_paused = draft_with(before, added, self._history, file)
            check_stores(draft, self._history, added)
            check_added(draft, self._history, added)
            change = change_of(statements, draft, self._history, Kept(file).text, is_paused=is_paused)
            history = self._history.extend(change)
            create_declared(self._kafka, draft.program.catalog)
            self._create_topics(draft, history)
            inserts = [statement for statement in added if isinstance(statement, InsertValues)]
            records = [record_of(statement, draft.program.catalog) for statement in inserts]
            if adds_formats(draft, self._draft):
                self._refuse_unread(draft, added[-1].place)
            self._accept(change, history, draft, records)
        finally:
            rmtree(file.parent, ignore_errors=True)
        return [
            Accepted(statement.text, _result(statement))
            for statement in added
            if not isinstance(statement, SetProperty)
        ]

    def _refuse_unread(self, draft: Draft, place: Place) -> None:
        """Refuse edited statements of which earlier records are unread. The job of the former statements continues."""
        if edits_formats(draft, self._draft):
            # As long as the former job runs, it sends more records in the former formats.
            self._keeper.stop()
        try:
            refuse_unread(self._kafka, self._application, draft, place)
        except Exception:
            self._keep(self._draft, self._file, is_same=True)
            raise

    def _accept(self, change: Change, history: History, draft: Draft, records: Sequence[Outgoing]) -> None:
        """Store a change and send its records in one transaction, then run the change."""
        if not change.sql and change.is_paused == self._history.is_paused:
            if records:
                self._log.append(None, records)
            return
        if change.is_paused or (records and not draft.has_same_queries(self._draft)) or draft.pauses(self._draft):
            # Stop the job first. A new query begins at the job's position, so the job must not read the records
            # before. Records that are written after PAUSE was answered must not reach the paused query.
            self._keeper.stop()
        try:
            self._log.append(change, records)
        except Exception:
            # The broker may have accepted the change. A job that was stopped stays stopped until the log is read again:
            # with its former queries, it would commit past the records, and the new queries would begin after them.
            self._is_current = False
            raise
        self._history, self._is_current = history, False
        self._catch_up()

    def _create_topics(self, draft: Draft, history: History) -> None:
        if draft.service is None:
            return
        file = self._write(history)
        os.environ[VARIABLE] = str(file)  # the topics' creation loads the job by its module
        try:
            self._create(draft.service)
        finally:
            os.environ[VARIABLE] = str(self._file)
            rmtree(file.parent, ignore_errors=True)

    def _read(self) -> None:
        self._history = self._log.open()
        self._is_current = False

    def _catch_up(self) -> None:
        """Run the accepted statements and their query server. Failures are logged, and `check` retries them."""
        try:
            if not self._log.is_open:
                self._read()
            if not self._is_current:
                self._run_job()
            if self._answered is not self._draft:
                self._answer_queries()
        except (Unavailable, KafkaRefused, RegistryRefused) as error:
            log.warning("%s: accepted statements can't be run or queried yet, retrying: %s", self._application, error)

    def _run_job(self) -> None:
        """Make the job run the current statements."""
        before = self._draft
        file = self._write(self._history)
        statements, _ = parse_request("", self._history, file)
        draft = draft_of(statements, file)
        self._file, self._draft = file, draft
        os.environ[VARIABLE] = str(file)
        self._keep(draft, file, is_same=draft.has_same_queries(before))
        self._is_current = True

    def _answer_queries(self) -> None:
        """Make the query server use the current statements."""
        draft = self._draft
        if draft.service is None:
            self._serve(None)
        elif self._serving is not None and draft.has_same_queries(self._answered):
            self._serving.server.read_statements()
        else:
            try:
                server = QueryServer(self._kafka, draft.service, self._application, {})
            except Exception:
                self._serve(None)  # the former server has other stores, so it can't answer queries of the new ones
                raise
            self._serve(server)
        self._answered = draft

    def _keep(self, draft: Draft, file: Path, *, is_same: bool) -> None:
        if draft.service is None or self._history.is_paused:
            self._keeper.want(None)
        elif not is_same or not self._keeper.is_wanted:
            self._keeper.want(file)

    def _serve(self, server: QueryServer | None) -> None:
        before, self._serving = self._serving, None if server is None else Serving(server)
        if before is not None:
            before.close()

    def _write(self, history: History) -> Path:
        """Write the statements to a new file, which no process has read yet, and return it."""
        self._number += 1
        file = self._directory / f"{self._number:06}" / f"{self._application}.sql"
        make_private_directory(file.parent)
        file.write_text(history.text, encoding="utf-8")
        if history.schemas:
            file.with_suffix(".schemas.json").write_text(history.schemas, encoding="utf-8")
        return file


def _result(statement: Statement) -> str:
    word = statement.text.split(maxsplit=1)[0].upper()
    return _RESULTS.get(word, "accepted")
