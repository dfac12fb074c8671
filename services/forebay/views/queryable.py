"""SQL queries of views: rows of their stores, changes of their topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from forebay.codec import DecodeError
from forebay.sql.catalog import Encoding, Source
from forebay.sql.plan import QueryPlan, Scan, Step
from forebay.sql.program import Program
from forebay.sql.queryable import Codecs, Queryable, codecs_of
from forebay.sql.readable import Readable
from forebay.stores.keys import join_key, split_key
from forebay.views.model import columns_of, store_of

_AVRO = Encoding(value="AVRO")


def queryable_views(plans: Sequence[QueryPlan]) -> Queryable:
    """Return the queryable tables and streams of a job of views: the views, and the topics that they read."""

    def program() -> Program:
        program = Program()
        for read in {source.name: source for source in map(_source, plans)}.values():
            program.catalog.add(replace(read, encoding=_AVRO))
        for plan in plans:
            program.catalog.add(replace(plan.target, encoding=_AVRO))
            program.queries.append(plan)
        return program

    return Queryable(program, {plan.target.name: _readable(plan.target) for plan in plans}, _codecs, lower=True)


def _source(plan: QueryPlan) -> Source:
    step: Step = plan.step
    while not isinstance(step, Scan):
        step = step.parent  # type: ignore[union-attr]
    return step.source


def _readable(target: Source) -> Readable:
    names = [named.name for named in target.values]
    values = columns_of(names) if names else lambda _: ()
    key = _Key(len(target.keys))
    return Readable(target, store_of(target.name), key.groups, key.text, lambda _key, kept, _time: values(kept))


class _Key:
    """A codec of a view's key, which is a text of its columns (implements `Codec`).

    Args:
        number: number of the key's columns.
    """

    def __init__(self, number: int) -> None:
        self._number = number

    def groups(self, text: str) -> tuple[str, ...]:
        """Return the columns of a key."""
        return (text,) if self._number == 1 else split_key(text)

    def text(self, groups: Sequence[str]) -> str:
        """Return the key of grouping columns."""
        return groups[0] if self._number == 1 else join_key(*groups)

    def decode(self, data: bytes) -> tuple[str, ...]:
        try:
            return self.groups(data.decode())
        except UnicodeDecodeError as error:
            raise DecodeError(f"{data!r} is not text: {error}") from error

    def encode(self, record: Sequence[str]) -> bytes:
        return self.text(record).encode()


def _codecs(source: Source) -> Codecs:
    return _Key(len(source.keys)), codecs_of(source)[1]
