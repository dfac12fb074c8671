"""The formats of timers' keys, recorded with the timers: another format would misread them silently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from forebay.formats.identities import Identity, Misread
from forebay.processor.timers import PREFIX as TIMERS
from forebay.stores.layouts import KEYS, DeclarationChanged, decode_layout, encode_layout, merge_layouts
from forebay.stores.layouts import PREFIX as LAYOUTS
from forebay.stores.table import Change, Table, prefix_end


def timer_keys_of(processor: object) -> Mapping[str, Identity]:
    """Return the identities of timers' keys by what begins the timers' names, as far as a processor knows them."""
    declared: Mapping[str, Identity] = getattr(processor, "timer_keys", dict)()
    return declared


class TimerKeys:
    """One row per processor of a topology: the identity of the format of its timers' keys.

    It is a layout whose name, unlike a store's, has a space. It is written with the first change of any timer.

    Args:
        service: named in remedies.
        declared: identities by what begins the timers' names.
    """

    def __init__(self, service: str, declared: Mapping[str, Identity]) -> None:
        self._service, self._declared = service, declared
        self._unwritten: dict[bytes, bytes] = {}
        self._is_given = False

    def load(self, table: Table) -> None:
        """Compare what `table` records with what is declared. Raises DeclarationChanged."""
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
        """Yield what a commit records that changes timers."""
        self._is_given = True
        yield from self._unwritten.items()

    def settle(self) -> None:
        """Begin a commit: the changes so far are in the table."""
        if self._is_given:
            self._unwritten.clear()
        self._is_given = False


def _has_keys(table: Table, label: str) -> bool:
    """Return whether any timer whose name begins with `label` has a key; the task's own have none."""
    prefix = TIMERS + label.encode()
    return any(not row.endswith(b"\0") for row, _ in table.scan(prefix, prefix_end(prefix)))
