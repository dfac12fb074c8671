"""Runs the demo: starts all processes in order, watches them, and stops them in reverse."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from forebay.demo.children import Child
from forebay.demo.errors import DemoError
from forebay.demo.interrupts import Interrupts
from forebay.demo.lanes import Lane, Lanes
from forebay.demo.leftovers import Ledger, only_demo
from forebay.demo.plain import totals
from forebay.demo.plan import DemoPlan, PlatformAfter
from forebay.demo.probe import JobProbe
from forebay.demo.service_status import WatchedService
from forebay.demo.show import Show
from forebay.demo.view import View
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import spec_of
from forebay.platform import Platform
from forebay.platform.home import make_home
from forebay.platform.ports import HOST
from forebay.platform.progress import Progress


class Demo:
    """Runs a plan once.

    Args:
        show: receives steps and views.
        progress: receives the progress of the platform's start.
    """

    def __init__(self, plan: DemoPlan, show: Show, progress: Progress) -> None:
        self._plan = plan
        self._show = show
        self._progress = progress
        self._interrupts = Interrupts()
        self._platform = Platform(plan.home)
        self._producers = plan.producers()
        self._lanes: Lanes | None = None
        self._metrics = ""
        self._troubles: list[DemoError] = []
        self._last: View | None = None
        self._console: Child | None = None
        self._console_port: int | None = None
        self._console_runs = False

    def run(self) -> None:
        """Run until the duration is over, or until Ctrl-C or SIGTERM.

        Raises:
            DemoError: a process ended or failed, or another demo runs in the same home.
            PlatformError: the platform can't be started.
        """
        make_home(self._plan.home)
        with self._interrupts, only_demo(self._plan.home) as ledger, _log_to_file(self._plan), self._show:
            ledger.end_leftovers(self._show.step)
            with ExitStack() as ends:
                if self._bring_up(ends):
                    ends.callback(ledger.clear)
                    ends.callback(self._stop)
                    self._watch(ledger)
                    self._say_totals()
            if self._troubles:
                raise self._troubles[0]
            self._show.step(
                "stopped; the data stays: `forebay demo` continues with it, `forebay down --delete-data` deletes it"
            )

    def _bring_up(self, ends: ExitStack) -> bool:
        """Prepare platform, topics and watchers. Return False if Ctrl-C was pressed meanwhile."""
        try:
            with self._interrupts.breaking_off():
                ran_before = self._platform.status().running
                endpoints = self._platform.up(self._progress)
                ends.callback(self._leave_platform, ran_before)
                settings = KafkaSettings(
                    bootstrap_servers=endpoints.bootstrap_servers, schema_registry_url=endpoints.registry_url
                )
                self._prepare(settings, ends)
        except KeyboardInterrupt:
            if not self._interrupts.stop.is_set():
                raise
            return False
        return True

    def _prepare(self, settings: KafkaSettings, ends: ExitStack) -> None:
        specs = {topic.name: spec_of(topic) for service in self._plan.services for topic in service.topics()}
        created = TopicAdmin(settings).create(specs.values())
        self._show.step(f"created {len(created)} topics" if created else f"continuing with {len(specs)} topics")
        partitions = {name: spec.partitions for name, spec in specs.items()}
        port, lanes = self._plan.chosen_port(), []
        for service, producers in zip(self._plan.services, self._producers, strict=True):
            probe = JobProbe(service.name, port, self._plan.pages(service))
            watched = WatchedService(settings, service, probe, partitions)
            ends.callback(watched.close)
            lanes.append(Lane(producers, watched))
        self._lanes = Lanes(self._plan.jobs(port), lanes)
        self._metrics = f"http://{HOST}:{port}/metrics"
        self._console_port = self._plan.console_at(port)
        if self._console_port is not None:
            self._console = self._plan.console(port, self._console_port)

    def _watch(self, ledger: Ledger) -> None:
        assert self._lanes is not None, "_prepare comes first"
        began = time.monotonic()
        ready_at: float | None = None
        self._start(self._lanes, ledger, began)
        while not self._interrupts.stop.wait(self._show.interval_s):
            now = time.monotonic()
            self._lanes.require_progress(now)
            self._start(self._lanes, ledger, now)
            self._start_console(self._lanes, ledger)
            self._last = View(now - began, time.time(), self._lanes.look(), self._hints())
            self._show.update(self._last)
            if ready_at is None:
                ready_at = now if self._lanes.are_ready else None
            elif self._plan.duration_s is not None and now - ready_at >= self._plan.duration_s:
                return

    def _start(self, lanes: Lanes, ledger: Ledger, now: float) -> None:
        for child in lanes.next_to_start(now):
            ledger.add(child.pid)
            self._show.note(f"started the {child.name} (pid {child.pid})")

    def _start_console(self, lanes: Lanes, ledger: Ledger) -> None:
        """Start the console once a job has commits, because starts need the whole machine."""
        works = any(lane.is_started and lane.is_ready for lane in lanes.lanes)
        if self._console is None or self._console_runs or not works:
            return
        self._console_runs = True
        self._console.start()
        ledger.add(self._console.pid)
        self._show.note(f"the console is at http://{HOST}:{self._console_port}/ (pid {self._console.pid})")

    def _hints(self) -> tuple[str, ...]:
        console = () if self._console_port is None else (f"console http://{HOST}:{self._console_port}/",)
        return (
            *console,
            f"metrics {self._metrics}  (also /healthz, /readyz)",
            f"logs {self._plan.logs}  broker {self._platform.endpoints.bootstrap_servers}",
            "Ctrl-C stops everything; the data stays, and `forebay demo` continues with it",
        )

    def _say_totals(self) -> None:
        for line in totals(self._last) if self._last else ():
            self._show.step(line)

    def _stop(self) -> None:
        """Stop the console and the producers at the same time, then the jobs."""
        assert self._lanes is not None, "_prepare comes first"
        if self._console is not None:
            self._end(self._console)
        for children in (self._lanes.producers, [self._lanes.job]):
            for child in children:
                self._show.step(f"stopping the {child.name}")
                child.ask_to_end()
            for child in children:
                self._end(child)

    def _end(self, child: Child) -> None:
        try:
            child.stop(self._interrupts.hurry.is_set)
        except DemoError as error:
            self._troubles.append(error)

    def _leave_platform(self, ran_before: bool) -> None:
        if ran_before or self._plan.platform_after is PlatformAfter.KEEP:
            self._show.step("the platform keeps running: `forebay down` stops it")
            return
        self._show.step("stopping the platform")
        self._platform.down()


@contextmanager
def _log_to_file(plan: DemoPlan) -> Iterator[None]:
    """Write this process's log lines to a file instead of the screen."""
    root = logging.getLogger("forebay")
    handler = logging.FileHandler(plan.logs / "demo.log", mode="w")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(message)s"))
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()
