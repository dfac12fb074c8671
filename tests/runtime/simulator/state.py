"""Spark's state of one group: what an attempt of a batch writes counts only once Spark commits the batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from forebay.runtime.stateformat import TaskSnapshot, decode_state, encode_state

Place = tuple[int, int]
Rows = dict[tuple[int, ...], bytes]


def _nothing(_point: str) -> None:
    return


@dataclass
class Attempt:
    """One attempt at a group's batch (implements `GroupStorage`): begins with what is committed.

    Args:
        at: called before each write with the name of the point.
    """

    rows: Rows
    at: Callable[[str], None] = _nothing

    def read(self, place: Place) -> TaskSnapshot | None:
        data = self.rows.get(place)
        return None if data is None else decode_state(data)

    def write(self, place: Place, snapshot: TaskSnapshot) -> None:
        self.at("state.write")
        self.rows[place] = encode_state(snapshot)

    def blocks(self, place: Place) -> Blocks:
        return Blocks(self, place)


@dataclass
class Blocks:
    """One task's blocks (implements `BlockStorage`)."""

    attempt: Attempt
    place: Place

    def get_block(self, number: int) -> bytes:
        return self.attempt.rows[*self.place, number]

    def put_block(self, number: int, data: bytes) -> None:
        self.attempt.at("state.block")
        self.attempt.rows[*self.place, number] = data

    def delete_block(self, number: int) -> None:
        del self.attempt.rows[*self.place, number]


@dataclass
class GroupState:
    """A group's state: `attempt` begins a batch, `commit` has one attempt count."""

    rows: Rows = field(default_factory=dict)

    def attempt(self, at: Callable[[str], None] = _nothing) -> Attempt:
        return Attempt(dict(self.rows), at)

    def commit(self, attempt: Attempt) -> None:
        self.rows = dict(attempt.rows)
