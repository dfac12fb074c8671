"""The marker: what a task's Kafka transaction says of the batch it committed, and what follows from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from forebay.processor.engine import BatchResult
from forebay.processor.messages import Output, SideRecord
from forebay.runtime.errors import ReplayDiffers, StateConflict

TAG_BYTES = 16


@dataclass(frozen=True, slots=True)
class Marker:
    """Metadata committed beside the input offsets, by the transaction itself.

    Args:
        job: identity of the checkpoint.
        batch: number of the last batch committed.
        stream_time: in ms.
        tag: that batch's tag, in hex.
        code_version: of the code that computed it.
        closing_time: in ms; None in markers of releases that did not keep it.
        handed_to: tasks of the next stage that were handed records in that batch, bit t for task t.
    """

    job: str
    batch: int
    stream_time: int
    tag: str
    code_version: str
    closing_time: int | None = None
    handed_to: int = 0

    def to_metadata(self) -> str:
        """Give the offset metadata."""
        fields = {
            "v": 1,
            "job": self.job,
            "n": self.batch,
            "s": self.stream_time,
            "tag": self.tag,
            "code": self.code_version,
            "c": self.closing_time,
            "to": f"{self.handed_to:x}",
        }
        return json.dumps(fields, separators=(",", ":"))

    @classmethod
    def from_metadata(cls, text: str) -> Marker:
        """Read offset metadata. Raises StateConflict where somebody else wrote it."""
        try:
            fields = json.loads(text)
            closing_time, handed_to = fields.get("c"), int(fields.get("to", "0"), 16)
            return cls(fields["job"], fields["n"], fields["s"], fields["tag"], fields["code"], closing_time, handed_to)
        except (ValueError, KeyError, TypeError) as error:
            raise StateConflict(
                f"the marker's metadata {text!r} was not written by Forebay: no other program may commit offsets "
                "to a job's marker group. Delete the checkpoint and `forebay restore` makes it anew from the changelogs"
            ) from error


class Step(Enum):
    """What to do with a batch."""

    PRODUCE = "produce"
    SUPPRESS = "suppress"


@dataclass(frozen=True, slots=True)
class Stored:
    """The part of a task's state that must agree with the marker."""

    job: str
    batch: int
    tag: bytes
    code_version: str


def decide(task: str, job: str, batch: int, stored: Stored | None, marker: Marker | None) -> Step:
    """Tell whether batch `batch` must be produced or was already committed.

    Args:
        task: names the task in errors.
        job: identity of the checkpoint that runs.
        stored: what the task's state says; None for a task without state.

    Raises:
        StateConflict: state and marker contradict each other.
    """
    for owner, found in (("state", stored), ("marker", marker)):
        if found is not None and found.job != job:
            raise StateConflict(
                f"{task}: the {owner} belongs to checkpoint {found.job}, but checkpoint {job} is running: the "
                "checkpoint was deleted or replaced, or another one runs under the same application id. Put the "
                "old checkpoint back; or delete this one and `forebay restore` makes it anew from the changelogs; or "
                "give this job another application id, or `forebay reset` forgets its state"
            )
    if marker is None:
        if stored is None:
            return Step.PRODUCE
        raise StateConflict(
            f"{task}: the state stands at batch {stored.batch}, but its marker is gone (group offsets deleted or "
            "expired): it can't be told whether a later batch was committed. Delete the checkpoint and "
            "`forebay restore` makes it anew from the changelogs"
        )
    if marker.batch == batch and (stored is None or stored.batch < batch):
        return Step.SUPPRESS
    if stored is not None and marker.batch == stored.batch and marker.tag == stored.tag.hex() and batch > stored.batch:
        return Step.PRODUCE
    standing = f"batch {stored.batch}, tag {stored.tag.hex()}" if stored else "no batch"
    raise StateConflict(
        f"{task}: the state stands at {standing}, the marker at batch {marker.batch}, tag {marker.tag}, and batch "
        f"{batch} is to run: the checkpoint is older or newer than the topics. Put back the checkpoint that belongs "
        "to them, or delete it and `forebay restore` makes it anew from the changelogs"
    )


def check_replay(task: str, tag: bytes, marker: Marker, code_version: str) -> None:
    """Refuse a batch that, computed again, differs from what was committed. Raises ReplayDiffers."""
    if tag.hex() == marker.tag:
        return
    cause = (
        f"the code changed from version {marker.code_version} to {code_version} in mid-batch: run the old version "
        "until this batch is through, then deploy again"
        if marker.code_version != code_version
        else "the processor is not deterministic (wall clock, random numbers, order of a set?)"
    )
    raise ReplayDiffers(
        f"{task}: replay differs: batch {marker.batch} was committed with tag {marker.tag}, computed again it gives "
        f"{tag.hex()}; {cause}"
    )


def chain(previous: bytes, batch: int, blocks: Iterable[bytes], result: BatchResult) -> bytes:
    """Give the tag of a batch: a hash over the previous tag, its number, its changes and all it sends."""
    hashed = hashlib.blake2b(previous, digest_size=TAG_BYTES)
    hashed.update(b"%d;%d;%d" % (batch, result.position.stream_time, result.position.closing_time))
    for block in blocks:
        hashed.update(b"%d;" % len(block))
        hashed.update(block)
    for outputs in (result.outputs, result.onward):
        for start in range(0, len(outputs), 1024):
            _add_outputs(hashed, outputs[start : start + 1024])
    for side in (result.errors, result.late):
        hashed.update(b"side")
        for record in side:
            hashed.update(_side_bytes(record))
    return hashed.digest()


def _add_outputs(hashed: hashlib.blake2b, outputs: list[Output]) -> None:
    parts: list[bytes] = []
    for raw_key, value, _, _, _ in outputs:
        key = raw_key or b""
        if value is None:
            parts += (b"%d;-;" % len(key), key)
        else:
            parts += (b"%d;%d;" % (len(key), len(value)), key, value)
    hashed.update(b"".join(parts))
    hashed.update(repr([output.timestamp for output in outputs]).encode())
    hashed.update(";".join([output.target for output in outputs]).encode())


def _side_bytes(record: SideRecord) -> bytes:
    return repr((record.key, record.value, record.timestamp, record.headers)).encode()
