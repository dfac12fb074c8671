"""A local checkpoint belongs to one driver at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.runtime.driver.checkpoint import held_checkpoint
from forebay.runtime.driver.session import checkpoint_settings
from forebay.runtime.errors import StopJob


def test_a_second_driver_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    place = str(tmp_path / "checkpoints" / "sums")
    with (
        held_checkpoint(place),
        pytest.raises(StopJob, match="another job holds the checkpoint"),
        held_checkpoint(place),
    ):
        pass
    with held_checkpoint(place):
        pass


def test_a_folder_that_can_not_be_created_is_reported_with_the_option(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StopJob, match="--checkpoint"), held_checkpoint(str(tmp_path / "file" / "sums")):
        pass


def test_only_local_checkpoints_use_the_renaming_manager() -> None:
    assert "spark.sql.streaming.checkpointFileManagerClass" in checkpoint_settings("/data/cp")
    assert "spark.sql.streaming.checkpointFileManagerClass" not in checkpoint_settings("s3a://bucket/cp")
    assert not checkpoint_settings("hdfs://host/cp")
