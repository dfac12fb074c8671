"""Run the demo: bring everything up in order, watch it, take it down in reverse."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from forebay.demo.children import Child
from forebay.demo.errors import DemoError
from forebay.demo.interrupts import Interrupts
from forebay.demo.lanes import Lane, next_to_start, starts_at_once
from forebay.demo.leftovers import Ledger, only_demo
from forebay.demo.plain import totals
from forebay.demo.plan import DemoPlan, PlatformAfter
from forebay.demo.probe import JobProbe
from forebay.demo.show import Show
from forebay.demo.view import View
from forebay.demo.watched import WatchedService
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
        show: gets steps and views.
        progress: gets the platform's start.
    """

    def __init__(self, plan: DemoPlan, show: Show, progress: Progress) -> None:
        self._plan = plan
        self._show = show
        self._progress = progress
        self._interrupts = Interrupts()
        self._platform = Platform(plan.home)
        self._producers = plan.producers()
        self._lanes: list[Lane] = []
        self._troubles: list[DemoError] = []
        self._last: View | None = None
        self._console: Child | None = None
        self._console_port: int | None = None
        self._console_runs = False

    def run(self) -> None:
        """Run until the duration is over or Ctrl-C or SIGTERM come.

        Raises:
            DemoError: a process ended or failed, or another demo runs in the same home.
            PlatformError: the platform can't be brought up.
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
            self._show.step("stopped; the data stays: `forebay demo` goes on, `forebay down --delete-data` deletes it")

    def _bring_up(self, ends: ExitStack) -> bool:
        """Make platform, topics and watchers ready; False if Ctrl-C came first."""
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
        self._show.step(f"created {len(created)} topics" if created else f"going on with {len(specs)} topics")
        partitions = {name: spec.partitions for name, spec in specs.items()}
        ports = self._plan.http_ports()
        for service, port, producers in zip(self._plan.services, ports, self._producers, strict=True):
            watched = WatchedService(settings, service, JobProbe(service.name, port), partitions)
            ends.callback(watched.close)
            self._lanes.append(Lane(self._plan.job(service, port), producers, watched))
        self._console_port = self._plan.console_at(ports)
        if self._console_port is not None:
            self._console = self._plan.console(ports, self._console_port)

    def _watch(self, ledger: Ledger) -> None:
        began = time.monotonic()
        ready_at: float | None = None
        self._start(ledger, began)
        while not self._interrupts.stop.wait(self._show.interval_s):
            now = time.monotonic()
            for lane in self._lanes:
                lane.require_progress(now)
            self._start(ledger, now)
            self._start_console(ledger)
            self._last = View(now - began, time.time(), tuple(lane.look() for lane in self._lanes), self._hints())
            self._show.update(self._last)
            if ready_at is None:
                ready_at = now if all(lane.is_ready for lane in self._lanes) else None
            elif self._plan.duration_s is not None and now - ready_at >= self._plan.duration_s:
                return

    def _start(self, ledger: Ledger, now: float) -> None:
        """Start those whose turn it is."""
        for lane in next_to_start(self._lanes, now, starts_at_once()):
            lane.start(now)
            for child in lane.children:
                ledger.add(child.pid)
                self._show.note(f"started the {child.name} (pid {child.pid})")

    def _start_console(self, ledger: Ledger) -> None:
        """Start the console once a job is ready, since starts need all there is; without it the demo goes on."""
        if self._console is None or self._console_runs or not any(lane.is_ready for lane in self._lanes):
            return
        self._console_runs = True
        self._console.start()
        ledger.add(self._console.pid)
        self._show.note(f"the console is at http://{HOST}:{self._console_port}/ (pid {self._console.pid})")

    def _hints(self) -> tuple[str, ...]:
        console = () if self._console_port is None else (f"console http://{HOST}:{self._console_port}/",)
        return (
            *console,
            f"metrics {metrics_pages([lane.watched.probe.port for lane in self._lanes])}  (also /healthz, /readyz)",
            f"logs {self._plan.logs}  broker {self._platform.endpoints.bootstrap_servers}",
            "Ctrl-C stops everything; the data stays, and `forebay demo` goes on with it",
        )

    def _say_totals(self) -> None:
        for line in totals(self._last) if self._last else ():
            self._show.step(line)

    def _stop(self) -> None:
        """End the producers, then the jobs; each kind at the same time."""
        if self._console is not None:
            self._end(self._console)
        running = [lane for lane in self._lanes if lane.is_started]
        for children in ([child for lane in running for child in lane.producers], [lane.job for lane in running]):
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
            self._show.step("the platform goes on: `forebay down` stops it")
            return
        self._show.step("stopping the platform")
        self._platform.down()


def metrics_pages(ports: Sequence[int]) -> str:
    """Return the metrics' address; of several jobs in the order of the rows, as shells and curl take it."""
    texts = [str(port) for port in ports]
    return f"http://{HOST}:{texts[0] if len(texts) == 1 else '{' + ','.join(texts) + '}'}/metrics"


@contextmanager
def _log_to_file(plan: DemoPlan) -> Iterator[None]:
    """Keep this process's log lines off the screen."""
    root = logging.getLogger("forebay")
    handler = logging.FileHandler(plan.logs / "demo.log", mode="w")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(message)s"))
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()
