"""Show the progress of a restore on a terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from confluent_kafka import KafkaException
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from forebay.kafka.settings import KafkaSettings
from forebay.runtime.observability.restore_progress import RestoreWatch

_LOOK_SECONDS = 0.5


@contextmanager
def restore_bar(kafka: KafkaSettings, application: str, topics: Iterable[str]) -> Iterator[None]:
    """Show a bar with records, records/s, MB/s and the time left while the block runs, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    watch = RestoreWatch(kafka, application, topics)
    try:
        watch.begin()
    # The bar is optional: if the broker can't be reached, the job must start all the same.
    except KafkaException:
        watch.close()
        yield
        return
    shower = threading.Thread(target=_show, args=(watch, done), name="restore-bar", daemon=True)
    shower.start()
    try:
        yield
    finally:
        done.set()
        shower.join(5.0)
        watch.close()


def _show(watch: RestoreWatch, done: threading.Event) -> None:
    columns = (
        TextColumn("restoring"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} records, {task.fields[pace]}"),
        TimeRemainingColumn(),
    )
    begun: float | None = None
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("restoring", total=None, pace="starting")
        while not done.wait(_LOOK_SECONDS):
            seen = watch.look()
            if seen is None or not seen.records:
                continue
            begun = begun if begun is not None else time.monotonic() - _LOOK_SECONDS
            seconds = time.monotonic() - begun
            pace = f"{seen.records / seconds:,.0f} records/s, {seen.bytes / seconds / 1e6:.1f} MB/s"
            bar.update(task, completed=seen.records, total=seen.total, pace=pace)
