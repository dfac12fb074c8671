"""Records of the formats of timers' keys, so that no other format silently misreads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from forebay.formats.identities import Identity, Misread
from forebay.stores.internal import TIMERS, timer_of
from forebay.stores.layouts import KEYS, DeclarationChanged, decode_layout, encode_layout, merge_layouts
from forebay.stores.layouts import PREFIX as LAYOUTS
from forebay.stores.table import Change, Table, prefix_end


def timer_keys_of(processor: object) -> Mapping[str, Identity]:
    """Return the identities of the key formats of timers, by prefix of the timers' names, if a processor knows them."""
    declared: Mapping[str, Identity] = getattr(processor, "timer_keys", dict)()
    return declared


class TimerKeys:
    """The recorded key formats of timers: a row per processor of a topology.

    The row is a layout whose name, unlike a store's, contains a space. It is written with the first change of a timer.

    Args:
        service: Name of the service, for messages.
        declared: Identities of the key formats, by prefix of the timers' names.
    """

    def __init__(self, service: str, declared: Mapping[str, Identity]) -> None:
        self._service, self._declared = service, declared
        self._unwritten: dict[bytes, bytes] = {}
        self._is_given = False

    def load(self, table: Table) -> None:
        """Compare the recorded formats with the declared ones. Raise DeclarationChanged if keys would be misread."""
        self._unwritten.clear()
        self._is_given = False
        for label, identity in self._declared.items():
            row, declared = LAYOUTS + label.rstrip(": ").encode(), {KEYS: identity}
            data = table.get(row)
            try:
                merged = merge_layouts({} if data is None else decode_layout(data), declared)
            except Misread as error:
                if _has_keys(table, label):
                    raise DeclarationChanged(
                        f"{label.rstrip(': ')} has timers and {error}: the job would misread the keys of its timers. "
                        "Write the declaration with its formats as they were; or give the processor another name, so "
                        f"that earlier timers do not fire; or start over with `forebay reset {self._service}`"
                    ) from None
                merged = declared
            encoded = encode_layout(merged)
            if data != encoded:
                self._unwritten[row] = encoded

    def changes(self) -> Iterator[Change]:
        """Yield the rows that a commit with changed timers writes."""
        self._is_given = True
        yield from self._unwritten.items()

    def settle(self) -> None:
        """Begin the next commit. The changes are in the table now."""
        if self._is_given:
            self._unwritten.clear()
        self._is_given = False


def _has_keys(table: Table, label: str) -> bool:
    """Return whether any timer whose name begins with `label` has a key. Timers of the whole task have none."""
    prefix = TIMERS + label.encode()
    return any(timer_of(row)[1] is not None for row, _ in table.scan(prefix, prefix_end(prefix)))
