"""The parts of a job that SQL queries need, which are its program, its tables and the formats of its topics."""

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
"""Codecs of a topic's keys and values, which are rows."""


def codecs_of(source: Source) -> Codecs:
    """Return the codecs of a source's topic."""
    key, value = formats_of(source)
    return key.codec(no_contracts), value.codec(no_contracts)


@dataclass(frozen=True, slots=True)
class Queryable:
    """The parts of a job that SQL queries need.

    Args:
        program: Returns a new copy of the program, because EXPLAIN adds statements to it.
        tables: Tables that pull queries can read, by name.
        codecs: Returns the codecs of a source's topic.
        lower: Whether unquoted names are folded to lower case, as in PostgreSQL, instead of upper case.
    """

    program: Callable[[], Program]
    tables: Mapping[str, Readable]
    codecs: Callable[[Source], Codecs] = codecs_of
    lower: bool = False


def queryable(program: Callable[[], Program]) -> Queryable:
    """Return the parts of a program's job that SQL queries need. Raises SqlError."""
    compiler = Compiler(program())
    compiler.run()
    return Queryable(program, compiler.readable)
