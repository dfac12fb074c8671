"""What a job can be asked in SQL: its program, how its tables are read, how its topics are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from forebay.codec import Codec
from forebay.formats import no_contracts
from forebay.sql.catalog import Source
from forebay.sql.compile import Compiler
from forebay.sql.program import Program
from forebay.sql.readable import Readable
from forebay.sql.sources import formats_of

Codecs = tuple[Codec[Any], Codec[Any]]
"""Of a topic's keys, which are rows, and of its values."""


def codecs_of(source: Source) -> Codecs:
    """Return what reads a topic as SQL writes it."""
    key, value = formats_of(source)
    return key.codec(no_contracts), value.codec(no_contracts)


@dataclass(frozen=True, slots=True)
class Queryable:
    """A job as SQL sees it.

    Args:
        program: returns a new copy of its program, since EXPLAIN adds to it.
        tables: how those that can be pulled are read, by name.
        codecs: of a topic.
        lower: whether names that are not quoted are in lower case, as in PostgreSQL, and not in upper case.
    """

    program: Callable[[], Program]
    tables: Mapping[str, Readable]
    codecs: Callable[[Source], Codecs] = codecs_of
    lower: bool = False


def queryable(program: Callable[[], Program]) -> Queryable:
    """Return what a program's job can be asked. Raises SqlError."""
    compiler = Compiler(program())
    compiler.run()
    return Queryable(program, compiler.readable)
