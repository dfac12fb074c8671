"""Checkpoint files are written as a whole, and each error of a file system or object store is reported in one line."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import fs

from forebay.runtime.errors import StopJob, StoreUnavailable
from forebay.runtime.snapshots import files as files_module
from forebay.runtime.snapshots.files import ArrowFiles, open_files
from forebay.runtime.snapshots.layout import ManifestName, block_name, block_number, manifest_name
from forebay.runtime.snapshots.object_store import s3_options, store_settings
from forebay.runtime.snapshots.retention import Cleanup, plan_cleanup


def test_files_are_written_listed_read_and_deleted(tmp_path: Path) -> None:
    files = open_files(str(tmp_path / "checkpoint"))
    assert files.list("a/b") == []
    files.write("a/b/one", b"1")
    files.write("a/b/two", b"2")
    files.write("a/b/one", b"more")
    assert sorted(files.list("a/b")) == ["one", "two"]
    assert files.read("a/b/one") == b"more"
    assert files.exists("a/b/two")
    files.delete("a/b/two")
    files.delete("a/b/two")
    assert not files.exists("a/b/two")
    with pytest.raises(FileNotFoundError):
        files.read("a/b/two")


def test_local_files_are_private(tmp_path: Path) -> None:
    open_files(str(tmp_path / "checkpoint")).write("a/b/one", b"1")
    below = [tmp_path / "checkpoint", *sorted((tmp_path / "checkpoint").rglob("*"))]
    assert [stat.S_IMODE(path.stat().st_mode) for path in below] == [0o700, 0o700, 0o700, 0o600]


def test_a_url_of_local_files_is_a_path(tmp_path: Path) -> None:
    open_files(f"file://{tmp_path}/checkpoint").write("a/one", b"1")
    assert (tmp_path / "checkpoint" / "a" / "one").read_bytes() == b"1"


def test_a_deleted_folder_is_recreated(tmp_path: Path) -> None:
    files = open_files(str(tmp_path))
    files.write("a/one", b"1")
    (tmp_path / "a" / "one").unlink()
    (tmp_path / "a").rmdir()
    with pytest.raises(StoreUnavailable, match="can't write a/one: its folder was deleted"):
        files.write("a/one", b"1")
    files.write("a/one", b"1")
    assert files.read("a/one") == b"1"


class Refusing(fs.FileSystemHandler):  # type: ignore[misc]
    """A store that answers every call with an error."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise self._error

    get_type_name = normalize_path = get_file_info = get_file_info_selector = create_dir = delete_dir = _refuse
    delete_dir_contents = delete_root_dir_contents = delete_file = move = copy_file = open_input_stream = _refuse
    open_input_file = open_output_stream = open_append_stream = _refuse


ERRORS = [
    (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "No space left on device"),
    (OSError(errno.EROFS, os.strerror(errno.EROFS)), "Read-only file system"),
    (OSError("When listing: AWS Error ExpiredToken: the token has expired\nmore"), "the token has expired"),
    (PermissionError(errno.EACCES, "Permission denied"), "Permission denied"),
    (pa.ArrowInvalid("not a valid bucket"), "not a valid bucket"),
]
CALLS: list[Callable[[ArrowFiles], object]] = [
    lambda files: files.list("a"),
    lambda files: files.read("a/one"),
    lambda files: files.write("a/one", b"1"),
    lambda files: files.delete("a/one"),
    lambda files: files.exists("a/one"),
]


@pytest.mark.parametrize("call", CALLS, ids=["list", "read", "write", "delete", "exists"])
@pytest.mark.parametrize(("error", "text"), ERRORS, ids=[text for _, text in ERRORS])
def test_an_error_of_the_store_is_one_line(error: Exception, text: str, call: Callable[[ArrowFiles], object]) -> None:
    files = ArrowFiles(fs.PyFileSystem(Refusing(error)), "root")
    with pytest.raises(StoreUnavailable) as refused:
        call(files)
    assert text in str(refused.value)
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith("can't ")


def test_a_full_disk_does_not_damage_the_previous_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = open_files(str(tmp_path))
    files.write("a/one", b"before")

    class Full(fs.LocalFileSystem):  # type: ignore[misc]
        def move(self, *_: Any) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files, "_system", Full())
    with pytest.raises(StoreUnavailable, match="No space left on device"):
        files.write("a/one", b"after")
    assert files.read("a/one") == b"before"


@pytest.mark.parametrize("url", ["ftp://host/checkpoint", "wasb://container/checkpoint", "dbfs:///checkpoint"])
def test_a_url_scheme_without_support_for_snapshots_is_refused(url: str) -> None:
    with pytest.raises(StopJob, match=r"can't hold snapshots .*: use a path") as refused:
        open_files(url)
    assert url in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_store_that_can_not_be_opened_raises_a_retriable_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(uri: str) -> None:
        raise OSError("no route to host\nmore")

    monkeypatch.setattr(files_module, "fs", SimpleNamespace(FileSystem=SimpleNamespace(from_uri=refuse)))
    with pytest.raises(StoreUnavailable, match=r"can't open the checkpoint hdfs://name/app: no route to host$"):
        open_files("hdfs://name/app")


def test_sparks_settings_of_the_store_are_those_of_the_snapshots() -> None:
    conf = {
        "spark.hadoop.fs.s3a.endpoint": "http://s3:9000",
        "spark.hadoop.fs.s3a.access.key": "key",
        "spark.hadoop.fs.s3a.secret.key": "secret",
        "spark.executor.memory": "1g",
    }
    settings = store_settings(conf)
    assert "spark.executor.memory" not in settings
    options = s3_options(settings)
    assert (options["scheme"], options["endpoint_override"], options["region"]) == ("http", "s3:9000", "us-east-1")
    assert (options["access_key"], options["secret_key"]) == ("key", "secret")
    assert "endpoint_override" not in s3_options({})


def test_names_are_read_back_and_sort_by_commit_then_time() -> None:
    names = [ManifestName(9, 5, 1), ManifestName(10, 1, 2), ManifestName(10, 2, 1)]
    assert [manifest_name(str(name)) for name in names] == names
    assert sorted(names) == sorted(names, key=str) == names
    assert block_number(block_name((1 << 63) - 1)) == (1 << 63) - 1
    assert [block_number("x.block"), manifest_name("1-2-3.manifest")] == [None, None]


def test_a_file_is_deleted_one_round_after_nothing_needs_it() -> None:
    first = plan_cleanup(["a", "b", "c"], {"a"}, frozenset())
    assert first == Cleanup((), frozenset({"b", "c"}))
    assert plan_cleanup(["a", "b", "c", "d"], {"a", "c"}, first.plan) == Cleanup(("b",), frozenset({"d"}))
