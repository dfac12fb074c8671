"""Rows in a declared table's store that contain columns for headers, partitions or offsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from forebay.codec import Codec, DecodeError
from forebay.formats import Contracts, Format
from forebay.formats.identities import columns_of
from forebay.sql.catalog import Named
from forebay.sql.values import RowCodec, hint_of, row_format, tuple_of


class KeptRows(RowCodec):
    """Codec of rows with more columns than the values of their topic.

    Release 0.2 stored the rows of a declared table in the encoding of its topic. Their additional columns are read as
    null.

    Args:
        topic: Codec of the topic's values.
        more: Number of additional columns.
    """

    def __init__(self, hint: Any, topic: Codec[Any], more: int) -> None:
        super().__init__(hint)
        self._topic = topic
        self._nulls = (None,) * more

    def decode(self, data: bytes) -> Any:
        try:
            return super().decode(data)
        except DecodeError as error:
            try:
                row = self._topic.decode(data)
            except DecodeError:
                raise error from None
            return None if row is None else (*row, *self._nulls)


def kept_format(columns: Sequence[Named], topic: Format[Any], more: int) -> Format[Any]:
    """Return the format of rows with more columns than the values of their topic.

    Args:
        columns: Columns of the rows. The additional columns are last.
        topic: Format of the topic's values.
        more: Number of additional columns.
    """
    kinds = tuple(column.type for column in columns)
    hint = tuple_of([hint_of(kind) for kind in kinds])

    def codec(contracts: Contracts) -> Codec[Any]:
        return KeptRows(hint, topic.codec(contracts), more)

    rows = row_format(kinds, tuple(column.name for column in columns))
    return replace(rows, codec=codec, identify=lambda: columns_of("\n".join(rows.layout), topic.identity))
