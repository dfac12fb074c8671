"""A start removes release 0.2's Spark state from a checkpoint, and refuses checkpoints of any other release."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forebay.runtime.errors import StateConflict
from forebay.runtime.protocol.lease import SENTINEL, LeaseOffset
from forebay.runtime.snapshots.former_state import drop_former_state

OFFSET = LeaseOffset("c1", 3, 1, 1, 0, {"in": (0,)}, {"in": "1"})


def write_checkpoint(place: Path, offsets: dict[int, object]) -> Path:
    (place / "state" / "0" / "_metadata").mkdir(parents=True)
    (place / "state" / "0" / "_metadata" / "schema").write_text("state")
    (place / "offsets").mkdir()
    for number, offset in offsets.items():
        (place / "offsets" / str(number)).write_text(f"v1\n{{}}\n{json.dumps(offset)}")
        (place / "offsets" / f".{number}.crc").write_bytes(b"x")
    return place / "state" / "0"


@pytest.mark.parametrize("offsets", [{}, {0: SENTINEL}, {9: {"v": 1}, 10: OFFSET.to_json()}])
def test_state_of_release_0_2_is_removed_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, offsets: dict[int, object]
) -> None:
    state = write_checkpoint(tmp_path, offsets)
    drop_former_state(str(tmp_path), {})
    assert not state.exists()
    assert caplog.messages == [
        "the checkpoint's snapshots are of release 0.2: the changelogs are read from their beginning"
    ]
    assert len(list((tmp_path / "offsets").glob("[0-9]*"))) == len(offsets)


def test_a_checkpoint_of_another_release_is_refused_and_stays(tmp_path: Path) -> None:
    state = write_checkpoint(tmp_path, {10: {"v": 1}})
    with pytest.raises(StateConflict, match="written by another release"):
        drop_former_state(str(tmp_path), {})
    assert (state / "_metadata" / "schema").exists()


@pytest.mark.parametrize("exists", [True, False])
def test_a_checkpoint_without_state_stays_as_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, exists: bool
) -> None:
    place = tmp_path / "checkpoint"
    if exists:
        place.mkdir()
    drop_former_state(str(place), {})
    drop_former_state(place.as_uri(), {})
    assert caplog.messages == []


def test_state_in_a_checkpoint_with_a_url_is_removed_too(tmp_path: Path) -> None:
    state = write_checkpoint(tmp_path, {0: OFFSET.to_json()})
    drop_former_state(tmp_path.as_uri(), {})
    assert not state.exists()


@pytest.mark.parametrize("name", ["state/notes.txt", "state/0/notes.txt", "state/1/_metadata/notes.txt"])
def test_a_folder_that_spark_did_not_write_stays(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    drop_former_state(str(tmp_path), {})
    drop_former_state(tmp_path.as_uri(), {})
    assert file.read_text() == "mine"


def test_other_files_in_the_folder_are_not_removed(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, {0: OFFSET.to_json()})
    file = tmp_path / "state" / "notes.txt"
    file.write_text("mine")
    drop_former_state(str(tmp_path), {})
    assert file.read_text() == "mine"
