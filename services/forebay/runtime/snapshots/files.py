"""Files of a checkpoint, on a local disk or in an object store, through `pyarrow.fs`."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow import fs

from forebay.runtime.errors import StopJob, StoreUnavailable
from forebay.runtime.snapshots.object_store import ATTEMPTS, s3_options
from forebay.utils.private import make_private_directory, make_private_file

_UNFINISHED = ".unfinished"
_S3 = ("s3", "s3a", "s3n")

T = TypeVar("T")


class Files(Protocol):
    """A directory of files. Every method raises StoreUnavailable if the store does not answer or refuses."""

    def list(self, folder: str) -> list[str]:
        """Return the names of the files in a folder; an empty list if it does not exist."""
        ...

    def read(self, path: str) -> bytes:
        """Return a file's bytes. Raises FileNotFoundError."""
        ...

    def write(self, path: str, data: bytes) -> None:
        """Write a file, completely or not at all, as far as the store supports this."""
        ...

    def delete(self, path: str) -> None:
        """Delete a file if it exists."""
        ...

    def exists(self, path: str) -> bool:
        """Return whether a file exists."""
        ...


def open_files(url: str, settings: Mapping[str, str] | None = None) -> ArrowFiles:
    """Return the files of a checkpoint.

    Args:
        url: path or URL of the checkpoint.
        settings: Spark's settings of the store, such as `spark.hadoop.fs.s3a.endpoint`.

    Raises:
        StopJob: the URL has a scheme that can't hold snapshots.
        StoreUnavailable: the store does not answer.
    """
    scheme = urlsplit(url).scheme if "://" in url else ""
    if not scheme:
        return ArrowFiles(fs.LocalFileSystem(), str(Path(url).absolute()))
    try:
        if scheme in _S3:
            return _open_s3(url.partition("://")[2].rstrip("/"), settings or {})
        system, path = fs.FileSystem.from_uri(url)
    except OSError as error:
        raise StoreUnavailable(f"can't open the checkpoint {url}: {_first_line(error)}") from error
    except (pa.ArrowException, ValueError) as error:
        raise StopJob(
            f"the checkpoint {url} can't hold snapshots ({_first_line(error)}): use a path, or a URL that begins with "
            "s3://, s3a://, gs://, abfss:// or hdfs://"
        ) from error
    return ArrowFiles(system, path.rstrip("/"))


def _open_s3(path: str, settings: Mapping[str, str]) -> ArrowFiles:
    options = s3_options(settings)
    if "region" not in options and not any(name in os.environ for name in ("AWS_REGION", "AWS_DEFAULT_REGION")):
        options["region"] = fs.resolve_s3_region(path.partition("/")[0])
    retries = fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS)
    return ArrowFiles(fs.S3FileSystem(retry_strategy=retries, **options), path)


class ArrowFiles:
    """Files below a directory of a `pyarrow.fs` file system (implements `Files`)."""

    def __init__(self, system: fs.FileSystem, root: str) -> None:
        self._system = system
        self._root = root
        self._is_local = isinstance(system, fs.LocalFileSystem)
        self._folders: set[str] = set()

    def list(self, folder: str) -> list[str]:
        def names() -> list[str]:
            infos: Any = self._system.get_file_info(fs.FileSelector(self._path(folder), allow_not_found=True))
            return [info.base_name for info in infos if info.type == fs.FileType.File]

        try:
            return self._call(f"list {folder}", names)
        except FileNotFoundError:
            return []

    def read(self, path: str) -> bytes:
        def data() -> bytes:
            # A stream would send a request to an object store for every 256 kB.
            with self._system.open_input_file(self._path(path)) as file:
                content: bytes = file.read()
                return content

        return self._call(f"read {path}", data)

    def write(self, path: str, data: bytes) -> None:
        def put() -> None:
            self._make_folder(path.rpartition("/")[0])
            target = self._path(path)
            # A local file gets its name once it is complete, so that no reader takes a part of it for a torn snapshot.
            # In an object store, a file appears only when it is complete.
            unfinished = f"{target}{_UNFINISHED}" if self._is_local else target
            if self._is_local:
                make_private_file(Path(unfinished))
            with self._system.open_output_stream(unfinished) as stream:
                stream.write(data)
            if self._is_local:
                self._system.move(unfinished, target)

        try:
            self._call(f"write {path}", put)
        except FileNotFoundError as error:
            # The cache of existing folders is no longer true. The next write creates the folders again.
            self._folders.clear()
            raise StoreUnavailable(f"can't write {path}: its folder was deleted") from error

    def delete(self, path: str) -> None:
        try:
            self._call(f"delete {path}", lambda: self._system.delete_file(self._path(path)))
        except FileNotFoundError:
            return

    def exists(self, path: str) -> bool:
        def is_there() -> bool:
            (info,) = self._system.get_file_info([self._path(path)])
            return bool(info.type == fs.FileType.File)

        return self._call(f"look for {path}", is_there)

    def has_folder(self, folder: str) -> bool:
        """Return whether a folder exists. Raises StoreUnavailable."""

        def is_there() -> bool:
            (info,) = self._system.get_file_info([self._path(folder)])
            return bool(info.type == fs.FileType.Directory)

        return self._call(f"look for {folder}", is_there)

    def delete_folder(self, folder: str) -> None:
        """Delete a folder with its contents. Raises StoreUnavailable, FileNotFoundError."""
        self._call(f"delete {folder}", lambda: self._system.delete_dir(self._path(folder)))

    def _path(self, path: str) -> str:
        return f"{self._root}/{path}"

    def _make_folder(self, folder: str) -> None:
        if folder in self._folders:
            return
        if self._is_local:
            for parent in (*reversed(PurePath(folder).parents), folder):
                make_private_directory(Path(self._path(str(parent))))
        elif not isinstance(self._system, fs.S3FileSystem):
            # In S3 a folder needs no object, and the right to create one may be missing.
            self._system.create_dir(self._path(folder), recursive=True)
        self._folders.add(folder)

    def _call(self, what: str, call: Callable[[], T]) -> T:
        try:
            return call()
        # An OSError, but not an outage: for callers it means that the file does not exist.
        except FileNotFoundError:
            raise
        except (OSError, pa.ArrowException) as error:
            raise StoreUnavailable(f"can't {what} in the checkpoint's directory: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Return one line with the reason why a store failed."""
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "No space left on device"
    return _first_line(error)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
