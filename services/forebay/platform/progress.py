"""The progress of `forebay up`: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn
from rich.progress import Progress as RichBars

_PLAIN_STEP_BYTES = 32 * 1024 * 1024


class Download(Protocol):
    """Receives the progress of a download of several files."""

    def file(self, name: str, size: int) -> None:
        """Report that the download of a file of `size` bytes begins."""
        ...

    def advance(self, size: int) -> None:
        """Report that `size` more bytes were received."""
        ...


class Progress(Protocol):
    """Receives the steps of a long command."""

    def step(self, message: str) -> None:
        """Report the current step."""
        ...

    def download(self, label: str) -> AbstractContextManager[Download]:
        """Begin a download of one or more files."""
        ...


class _NoDownload:
    def file(self, name: str, size: int) -> None: ...

    def advance(self, size: int) -> None: ...


class SilentProgress:
    """Shows nothing."""

    def step(self, message: str) -> None:
        """Show nothing."""

    def download(self, label: str) -> AbstractContextManager[Download]:
        """Show nothing."""
        return nullcontext(_NoDownload())


class PlainProgress:
    """Prints one line per step and one per 32 MB downloaded."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def step(self, message: str) -> None:
        """Print the step."""
        self._console.print(message, markup=False, highlight=False, soft_wrap=True)

    @contextmanager
    def download(self, label: str) -> Iterator[Download]:
        """Print the begin, the progress and the end of the download."""
        download = _PlainDownload(self, label)
        yield download
        if download.files:
            self.step(f"downloaded {label}: {download.files} files, {_megabytes(download.received)}")


class _PlainDownload:
    def __init__(self, progress: PlainProgress, label: str) -> None:
        self._progress = progress
        self._label = label
        self.files = 0
        self.received = 0

    def file(self, name: str, size: int) -> None:
        if self.files == 0:
            self._progress.step(f"downloading {self._label} (once, then cached)")
        self.files += 1

    def advance(self, size: int) -> None:
        if (self.received + size) // _PLAIN_STEP_BYTES > self.received // _PLAIN_STEP_BYTES:
            self._progress.step(f"downloading {self._label}: {_megabytes(self.received + size)}")
        self.received += size


class RichProgress:
    """Shows a bar per download, and one line per step, on a terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def step(self, message: str) -> None:
        """Print the step."""
        self._console.print(f"[dim]·[/dim] {message}", highlight=False)

    @contextmanager
    def download(self, label: str) -> Iterator[Download]:
        """Show a progress bar."""
        columns = (TextColumn("[bold]{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        with RichBars(*columns, TextColumn("[dim]{task.fields[file]}"), console=self._console) as bars:
            yield _RichDownload(bars, label)


class _RichDownload:
    def __init__(self, bars: RichBars, label: str) -> None:
        self._bars = bars
        self._task = bars.add_task(label, total=0, file="looking up what is needed", visible=True)
        self._total = 0

    def file(self, name: str, size: int) -> None:
        self._total += size
        self._bars.update(self._task, total=self._total, file=name)

    def advance(self, size: int) -> None:
        self._bars.advance(self._task, size)


def progress_for(console: Console) -> Progress:
    """Return bars for a terminal that can move its cursor, plain lines for anything else."""
    return RichProgress(console) if console.is_interactive else PlainProgress(console)


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:.0f} MB"
