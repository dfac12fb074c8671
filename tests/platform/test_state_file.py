from __future__ import annotations

from pathlib import Path

import pytest

from forebay.platform import PlatformError
from forebay.platform.state import ComponentRecord, PlatformRecord, ProcessRecord, StateFile

RECORD = PlatformRecord(
    cluster_id="c",
    controller_port=3,
    broker=ComponentRecord(1, ProcessRecord(pid=7, token="abc")),
    registry=ComponentRecord(2),
)


def test_a_saved_record_is_loaded(tmp_path: Path) -> None:
    file = StateFile(tmp_path / "platform.json")
    assert file.load() is None
    file.save(RECORD)
    assert file.load() == RECORD
    assert [path.name for path in tmp_path.iterdir()] == ["platform.json"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 99}', '{"format": 1, "cluster_id": "c"}'])
def test_a_file_that_is_not_ours_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "platform.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PlatformError, match=r"platform\.json is not valid"):
        StateFile(path).load()
