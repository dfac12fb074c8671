"""Helpers of the benchmarks: a separate platform, the job as a child process, CPU and memory of its process tree."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from prometheus_client.parser import text_string_to_metric_families

from forebay.catalog import find_service
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import spec_of
from forebay.platform import Platform
from forebay.platform.ports import free_port
from forebay.platform.progress import SilentProgress

SERVICE = "user-sessions"
TOPIC = "user_activity"


@contextmanager
def platform(service: str = SERVICE) -> Iterator[tuple[Path, KafkaSettings]]:
    """Yield a platform in a temporary directory, with the topics of a service."""
    with tempfile.TemporaryDirectory(prefix="forebay-bench-") as home:
        embedded = Platform(Path(home))
        endpoints = embedded.up(SilentProgress())
        try:
            kafka = KafkaSettings(
                bootstrap_servers=endpoints.bootstrap_servers, schema_registry_url=endpoints.registry_url
            )
            TopicAdmin(kafka).create(spec_of(topic) for topic in find_service(service).topics())
            yield Path(home), kafka
        finally:
            embedded.down()


@dataclass
class Usage:
    """CPU time (s) by kind of process, and the peak of the resident memory of all processes together (bytes)."""

    cpu: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    peak_bytes: int = 0


class JobProcess:
    """The job as a child process. Its CPU time and memory are sampled every half second."""

    def __init__(self, home: Path, service: str, *arguments: str, command: str = "run") -> None:
        self.port = free_port()
        given = [sys.executable, "-m", "forebay.cli.main", command, service, "--home", str(home)]
        self._log = (home / "job.log").open("wb")
        self.process = subprocess.Popen(
            [*given, "--http-port", str(self.port), *arguments],
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        self.usage = Usage()
        self._cpu: dict[int, tuple[str, float]] = {}
        self.metrics: dict[tuple[str, ...], float] = {}
        self._done = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self._sampler.start()

    def log(self) -> str:
        """Return the text of its log."""
        return Path(self._log.name).read_text()

    def wait_until_it_runs(self, seconds: float = 180.0) -> None:
        """Wait until the job's tasks have started to read."""
        deadline = time.monotonic() + seconds
        while not self.value("forebay_last_commit_timestamp_seconds"):
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise SystemExit(f"the job does not run: {Path(self._log.name).read_text()[-2000:]}")
            time.sleep(0.2)

    def cpu(self) -> dict[str, float]:
        """Return the CPU time (s) of its processes so far, by kind of process."""
        self._measure()
        results: dict[str, float] = defaultdict(float)
        for kind, seconds in list(self._cpu.values()):
            results[kind] += seconds
        return results

    def wait(self) -> float:
        """Wait until the job ends. Return the seconds between the first and the last reported records."""
        self.process.wait()
        self._done.set()
        self._sampler.join()
        if self.process.returncode:
            raise SystemExit(f"the job failed: {Path(self._log.name).read_text()[-2000:]}")
        for kind, seconds in self._cpu.values():
            self.usage.cpu[kind] += seconds
        return self._last - self._first

    def stop(self) -> None:
        """End the job with SIGTERM."""
        os.kill(self.process.pid, signal.SIGTERM)
        self.wait()

    def kill(self) -> None:
        """Kill driver, JVM and workers."""
        root = psutil.Process(self.process.pid)
        tree = [root, *root.children(recursive=True)]
        for process in tree:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(tree, 30)
        self.process.wait()
        self._done.set()
        self._sampler.join()

    def value(self, name: str, **labels: str) -> float:
        """Return the sum of a metric over all labels that are not specified."""
        wanted = set(labels.items())
        return sum(
            v
            for key, v in self.metrics.items()
            if key[0] == name and wanted <= set(zip(key[1::2], key[2::2], strict=True))
        )

    _first = _last = 0.0

    def _sample(self) -> None:
        while not self._done.wait(0.5):
            self._measure()
            before = self.value("forebay_records_in_total")
            self._scrape()
            now, read = time.perf_counter(), self.value("forebay_records_in_total")
            if read > before:
                self._first = self._first or now
                self._last = now

    def _measure(self) -> None:
        resident = 0
        try:
            root = psutil.Process(self.process.pid)
            tree = [root, *root.children(recursive=True)]
        except psutil.Error:
            return
        for process in tree:
            with suppress(psutil.Error), process.oneshot():
                times, resident = process.cpu_times(), resident + process.memory_info().rss
                kind = "jvm" if process.name() == "java" else "driver" if process.pid == root.pid else "python"
                self._cpu[process.pid] = (kind, times.user + times.system)
        self.usage.peak_bytes = max(self.usage.peak_bytes, resident)

    def _scrape(self) -> None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=2) as answer:
                text = answer.read().decode()
        except OSError:
            return
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                key = (sample.name, *(part for pair in sorted(sample.labels.items()) for part in pair))
                self.metrics[key] = sample.value
