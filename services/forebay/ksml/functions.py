"""Functions of a definition in a task."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any

from forebay.codec import Unavailable
from forebay.ksml.code import Source
from forebay.ksml.logs import Log
from forebay.ksml.metrics import Metrics
from forebay.ksml.values import WrongType, taker_of
from forebay.ksml.watch import TimeOver, Watch
from forebay.processor.api import RejectedRecord


class _WrongResult(Exception):
    """A result has another type than the function declares."""


class Functions:
    """The functions of one definition in one task, which share their globals, and call each other by name.

    Args:
        namespace: the definition's, prefix of the names of loggers.
        sources: all functions, in the file's order.
    """

    def __init__(self, namespace: str, sources: Iterable[Source], watch: Watch) -> None:
        self._sources = tuple(sources)
        self._watch = watch
        self.metrics = Metrics()
        self._globals: dict[str, Any] = {
            "__name__": f"ksml_{namespace}",
            "__logs__": {source.name: Log(f"{namespace}.function.{source.name}") for source in self._sources},
            "log": Log(namespace),
            "metrics": self.metrics,
            "stores": {},
        }
        self._is_begun = False

    def begin(self) -> None:
        """Run the global code and define the functions, once. Raises RejectedRecord if this fails."""
        if self._is_begun:
            return
        self._is_begun = True
        for source in self._sources:
            try:
                if source.module is not None:
                    exec(source.module, self._globals)
                exec(source.body, self._globals)
            except Exception as error:
                self._is_begun = False
                raise self.describe_error(source, error) from error

    def function(self, source: Source, stores: Mapping[str, Any]) -> Callable[..., Any]:
        """Return a callable for a function that checks the result's type, and adds the place to errors.

        Args:
            stores: the stores that the function uses, by name.
        """
        self.begin()
        call, watch, take = self._globals[source.name], self._watch, taker_of(source.result)
        variables, own = self._globals, dict(stores)
        is_limited = watch.limit_ms > 0 and not source.only_looks

        def call_typed(*arguments: Any) -> Any:
            try:
                if is_limited:
                    watch.begin()
                result = call(*arguments)
                if is_limited and watch.end():
                    raise TimeOver
                try:
                    return take(result)
                except WrongType as error:
                    raise _WrongResult(str(error)) from error
            except (Unavailable, MemoryError, RejectedRecord):
                raise
            except Exception as error:
                raise self.describe_error(source, error) from error
            finally:
                if is_limited and watch.is_open:
                    watch.end()

        def call_with_stores(*arguments: Any) -> Any:
            # Functions of a task share their globals, so each call sets its own stores.
            if own:
                variables["stores"] = own
            try:
                return call_typed(*arguments)
            except TimeOver as error:
                raise self.describe_error(source, error) from error

        return call_with_stores

    def late(self, source: Source) -> Callable[..., Any]:
        """Return a callable for a function without stores, which is prepared at the first call."""
        functions: list[Callable[..., Any]] = []

        def call(*arguments: Any) -> Any:
            if not functions:
                functions.append(self.function(source, {}))
            return functions[0](*arguments)

        return call

    def describe_error(self, source: Source, error: BaseException) -> RejectedRecord:
        """Return the error of a function with its place in the file and in the function."""
        line = _line_of(error.__traceback__, source.file)
        if isinstance(error, TimeOver):
            reason = f"it took longer than {self._watch.limit_ms} ms: end its loop, or raise function_time_limit_ms"
        elif isinstance(error, _WrongResult):
            reason = f"its result is not {source.result}: {error}"
            line = source.line
        else:
            reason = f"{type(error).__name__}: {error}"
        place = line or source.code_line
        within = f", its line {place - source.code_line + 1}" if place >= source.code_line else ""
        return RejectedRecord(f"{source.file}:{place}: function {source.name}{within}: {reason}")


def _line_of(traceback: TracebackType | None, file: str) -> int:
    """Return the last line of a file in a traceback; 0 if the traceback does not contain the file."""
    line = 0
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == file:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


def add_modules(folder: str) -> None:
    """Let functions import the Python modules of a folder."""
    if folder not in sys.path:
        sys.path.append(folder)
