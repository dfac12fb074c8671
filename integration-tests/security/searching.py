"""Search for secrets in the processes and files of a job, including archives and compressed state."""

from __future__ import annotations

import base64
import contextlib
import gzip
import io
import stat
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil
import pyarrow

_LZ4_BLOCK = b"LZ4Block"
_LZ4_HEADER = 21
_LZ4_RAW = 0x10
_ZSTD = b"\x28\xb5\x2f\xfd"
_GZIP = b"\x1f\x8b"


def forms(secret: str) -> frozenset[bytes]:
    """Return the forms in which a secret may appear: text, UTF-16, hexadecimal digits, the middle of its base64."""
    plain = secret.encode()
    encoded = {base64.b64encode(b"\0" * shift + plain)[4:-4] for shift in range(3)}
    return frozenset({plain, secret.encode("utf-16-le"), secret.encode("utf-16-be"), plain.hex().encode(), *encoded})


def holds(data: bytes, secret: str) -> bool:
    """Return whether bytes, or their decompressed content, contain a secret."""
    wanted = forms(secret)
    return any(form in layer for layer in layers(data) for form in wanted)


def layers(data: bytes) -> Iterator[bytes]:
    """Yield the bytes, and the content of all archives in them: zip, gzip, zstd, Spark's LZ4 blocks."""
    yield data
    with contextlib.suppress(zipfile.BadZipFile, OSError, EOFError):
        if data[:2] == b"PK":
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                for name in archive.namelist():
                    yield from layers(archive.read(name))
        elif data.startswith(_GZIP):
            yield from layers(gzip.decompress(data))
        elif data.startswith(_ZSTD):
            with pyarrow.input_stream(pyarrow.BufferReader(data), compression="zstd") as stream:
                yield stream.read()
        elif data.startswith(_LZ4_BLOCK):
            yield b"".join(_lz4_blocks(data))


def _lz4_blocks(data: bytes) -> Iterator[bytes]:
    at = 0
    while data.startswith(_LZ4_BLOCK, at):
        method = data[at + 8] & 0xF0
        packed, size = (int.from_bytes(data[at + place : at + place + 4], "little") for place in (9, 13))
        body = data[at + _LZ4_HEADER : at + _LZ4_HEADER + packed]
        at += _LZ4_HEADER + packed
        if size:
            yield body if method == _LZ4_RAW else pyarrow.decompress(body, size, codec="lz4_raw", asbytes=True)


def files_with(secret: str, *folders: Path) -> list[str]:
    """Return the files in some folders that contain a secret."""
    return [str(path) for folder in folders for path, data in _files(folder) if holds(data, secret)]


def open_files_with(secret: str, processes: Iterable[psutil.Process]) -> list[str]:
    """Return the open files of processes (also deleted ones) that contain a secret."""
    results = []
    for process in processes:
        for path in _open_regular(process.pid):
            with contextlib.suppress(OSError):
                if holds(path.read_bytes(), secret):
                    results.append(f"{process.pid}: {path.readlink()}")
    return results


def command_lines(processes: Iterable[psutil.Process]) -> str:
    """Return the command lines that the process list shows."""
    lines = []
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            lines.append(" ".join(process.cmdline()))
    return "\n".join(lines)


def _files(folder: Path) -> Iterator[tuple[Path, bytes]]:
    for path in sorted(folder.rglob("*")):
        with contextlib.suppress(OSError):
            if stat.S_ISREG(path.lstat().st_mode):
                yield path, path.read_bytes()


def _open_regular(pid: int) -> Iterator[Path]:
    descriptors = Path(f"/proc/{pid}/fd")
    with contextlib.suppress(OSError):
        for path in descriptors.iterdir():
            with contextlib.suppress(OSError):
                if stat.S_ISREG(path.stat().st_mode) and not str(path.readlink()).endswith((".jar", ".so", ".py")):
                    yield path
