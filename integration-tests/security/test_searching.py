"""The search for secrets finds hidden ones. Only then does an empty result prove that nothing leaked."""

from __future__ import annotations

import base64
import gzip
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import psutil
import pyarrow
import pytest
from security.searching import files_with, holds, open_files_with

SECRET = "hunter2-4f1c9e"


def zip_file(data: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("some/file.sst", data)
    return packed.getvalue()


def zstd(data: bytes) -> bytes:
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue().to_pybytes())


def lz4_blocks(data: bytes) -> bytes:
    body: bytes = pyarrow.compress(data, codec="lz4_raw", asbytes=True)
    sizes = len(body).to_bytes(4, "little") + len(data).to_bytes(4, "little")
    return b"LZ4Block\x25" + sizes + b"\0\0\0\0" + body


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "utf-16": lambda data: data.decode().encode("utf-16-le"),
    "base64": lambda data: base64.b64encode(b"x" + data),
    "hex": lambda data: data.hex().encode(),
    "zip": zip_file,
    "gzip": gzip.compress,
    "zstd": zstd,
    "lz4": lz4_blocks,
    "lz4 in a zip": lambda data: zip_file(lz4_blocks(data)),
}


@pytest.mark.parametrize("pack", PACKED.values(), ids=PACKED)
def test_a_planted_secret_is_found(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    data = pack(b"password=" + SECRET.encode() + b";" * 200)
    assert holds(data, SECRET)
    assert not holds(pack(b"password=" + SECRET.upper().encode() + b";" * 200), SECRET)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_bytes(data)
    assert files_with(SECRET, tmp_path) == [str(tmp_path / "deep" / "file")]


def test_a_deleted_file_that_is_still_open_is_read(tmp_path: Path) -> None:
    path = tmp_path / "gone"
    with path.open("w+") as file:
        file.write(SECRET)
        file.flush()
        path.unlink()
        assert len(open_files_with(SECRET, [psutil.Process()])) == 1
    assert open_files_with(SECRET, [psutil.Process()]) == []
