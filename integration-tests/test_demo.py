"""The demo, started as a user starts it, shows statistics and results, shuts down in order, and can resume."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from forebay.platform import Platform

pytestmark = pytest.mark.timeout(900)

SECONDS = 12
SERVICES = ("user-sessions", "device-alerts")
FIGURES = re.compile(
    r"^\d\d:\d\d (?P<service>[\w-]+): in (?P<rate>[\d,]+)/s, out [\d,]+/s, lag [\d,]+, commits \d+/s, "
    r"latency p50 .* p95 .*, state (?P<rows>[\d,]+) rows .*, errors (?P<errors>\d+), late 0, "
    r"duplicates (?P<duplicates>\d+), restarts 0, stored (?P<stored>[\d,]+) events"
)
STATISTICS = re.compile(r"^\d\d:\d\d user-sessions latest: user user_\d{6}, .*sessions \d+, time \d+:\d\d:\d\d")
ALERTS = re.compile(r"^\d\d:\d\d device-alerts latest: device .*alert [A-Z_]+, ")


class RunningDemo:
    """`forebay demo` without a terminal, which writes its output to a file."""

    def __init__(self, home: Path, *options: str) -> None:
        self.output = home.with_suffix(".out")
        command = [sys.executable, "-m", "forebay.cli.main", "demo", "--home", str(home)]
        options = (*options, "--rate", "200", "--keys", "40", "--seed", "11", "--memory", "512")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "FOREBAY_BOOTSTRAP_SERVERS": "ignored:1"}
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [*command, *options], stdout=output, stderr=subprocess.STDOUT, env=environment, start_new_session=True
            )
        self.seen: dict[int, psutil.Process] = {}

    def lines(self) -> list[str]:
        return self.output.read_text().splitlines()

    def matches(self, pattern: re.Pattern[str]) -> list[re.Match[str]]:
        """Return the matching lines, and add the demo's current child processes to `seen`."""
        if self.process.poll() is None:
            for process in psutil.Process(self.process.pid).children(recursive=True):
                self.seen[process.pid] = process
        return [match for line in self.lines() if (match := pattern.match(line))]

    def figures(self, service: str = "user-sessions") -> list[re.Match[str]]:
        """Return the matches of lines with a service's statistics."""
        return [match for match in self.matches(FIGURES) if match["service"] == service]

    def has_shown_all(self) -> bool:
        return all(self.figures(service) for service in SERVICES)

    def has_shown_statistics(self) -> bool:
        assert self.process.poll() is None, self.output.read_text()
        return bool(self.figures() and self.matches(STATISTICS))

    def left_running(self) -> list[psutil.Process]:
        return [process for process in self.seen.values() if _runs(process)]

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for process in self.left_running():
            with suppress(psutil.NoSuchProcess):
                process.kill()


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def number(found: re.Match[str], name: str) -> int:
    return int(found[name].replace(",", ""))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    directory = tmp_path_factory.mktemp("demo") / "home"
    yield directory
    Platform(directory).down()


@pytest.fixture(scope="module")
def first(home: Path, wait_until: Callable[..., None]) -> Iterator[RunningDemo]:
    demo = RunningDemo(home, *SERVICES, "--disorder", "--duration", str(SECONDS))
    wait_until(lambda: demo.has_shown_all() or demo.process.poll() is not None, "figures of each service", seconds=600)
    wait_until(lambda: demo.matches(FIGURES) and demo.process.poll() is not None, "the demo's end", seconds=180)
    yield demo
    demo.kill()


def test_demo_ends_after_its_duration(first: RunningDemo) -> None:
    assert first.process.returncode == 0, first.output.read_text()
    assert all(len(first.figures(service)) >= SECONDS / 2 - 2 for service in SERVICES)


@pytest.mark.parametrize("service", SERVICES)
def test_shows_rates_state_and_bad_events(first: RunningDemo, service: str) -> None:
    last = first.figures(service)[-1]
    # How many events a duration has depends on the machine. The second demo waits for a number.
    assert number(last, "rate") > 0
    assert number(last, "rows") > 40
    assert number(last, "stored") > number(last, "rate")
    assert number(last, "duplicates") > 0


def test_shows_results_of_each_service(first: RunningDemo) -> None:
    assert first.matches(STATISTICS)
    assert first.matches(ALERTS)


def test_steps_are_reported_in_order(first: RunningDemo) -> None:
    text = first.output.read_text()
    steps = (
        "the registry answers",
        "created 12 topics",
        "started the jobs (pid ",
        "started the producer user_activity (pid ",
        "events in, ",
        "stopping the producer user_activity",
        "stopping the producer device_events",
        "stopping the jobs",
        "stopping the platform",
        "stopped; the data stays",
    )
    places = [text.index(step) for step in steps]
    assert places == sorted(places)
    assert "started the producer device_events (pid " in text
    assert len([line for line in text.splitlines() if line.startswith("metrics http://127.0.0.1:")]) == 1


def test_demo_stops_all_its_processes(first: RunningDemo, home: Path) -> None:
    assert len(first.seen) > 2
    assert not first.left_running()
    assert all(component.pid is None for component in Platform(home).status().components)


def test_demo_resumes_its_state_and_stops_on_ctrl_c(
    first: RunningDemo, home: Path, wait_until: Callable[..., None]
) -> None:
    before = number(first.figures()[-1], "stored")
    demo = RunningDemo(home)
    try:
        wait_until(demo.has_shown_statistics, "figures and statistics of the second demo", seconds=360)
        enough = max(before, 200 * SECONDS * 0.8)
        wait_until(lambda: number(demo.figures()[-1], "stored") > enough, "more events than before, and of 10 seconds")
        demo.process.send_signal(signal.SIGINT)
        assert demo.process.wait(120) == 0, demo.output.read_text()
        assert "continuing with 6 topics" in demo.lines()
        assert number(demo.figures()[0], "rows") >= number(first.figures()[-1], "rows")
        shown = demo.figures()[-1]
        assert number(shown, "errors") == number(demo.figures()[0], "errors"), "without --disorder no event is broken"
        assert not demo.left_running()
    finally:
        demo.kill()
