"""The console in a real browser shows a running job, and handles everything that can go wrong with a page."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import browser as browsers
import pytest
from bench import INPUT, Bench
from browser import NARROW, Browser
from click.testing import CliRunner
from loop_worker import LoopWorker
from selenium.webdriver.common.keys import Keys
from topic_reading import read_topic

from forebay.catalog import find_service
from forebay.cli.error_records import errors
from forebay.console.job_address import WatchedJob
from forebay.console.local_queries import LocalQueries
from forebay.console.restores import Restoring
from forebay.console.server import ConsoleServer
from forebay.http.health import Health, health_server
from forebay.http.server import HttpServer
from forebay.platform import Platform
from forebay.platform.ports import HOST, free_port
from forebay.producing.base import FIXED_START_MS, Options
from forebay.queries.server import QueryServer
from forebay.queries.sql_pages import SqlPages
from forebay.runtime.driver.logic_settings import parse_logic
from forebay.runtime.observability.metrics import JobMetrics
from forebay.runtime.task.statistics import TaskFigures
from forebay.sql import service as sql_service
from forebay.sql.queryable import queryable
from forebay.testing.cell import Cell
from tests.console.watching import Console, Job
from tests.queries.written import WrittenTask, job_of

NOT_RUN = browsers.missing()
pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(NOT_RUN), reason=f"NOT RUN: the console in a browser: {NOT_RUN}"),
]
HOSTILE = "<img src=x onerror=\"document.title='run'\">"
TOKEN = "0123456789abcdef"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    browser = Browser("")
    yield browser
    browser.close()


class WorkingJob:
    """A job's loop on a thread of this process, with its HTTP pages, a query server and a console."""

    def __init__(self, bench: Bench, ends: ExitStack) -> None:
        self.bench = bench
        self._stop = threading.Event()
        health, metrics = Health(), JobMetrics(bench.service.name)
        page = health_server(health, metrics.registry, HOST, 0)
        ends.callback(page.close)
        queries, console = free_port(), free_port()
        service = bench.service
        server = QueryServer(bench.settings, service, bench.application, parse_logic(service, {}))
        job = WatchedJob(service, bench.application, f"http://{HOST}:{page.port}", f"http://{HOST}:{queries}")
        watching = ConsoleServer(bench.settings, [job], LocalQueries(lambda *_: []))
        self.url = f"http://{HOST}:{console}"
        for work in (
            lambda: self._work(health, metrics),
            self._feed,
            lambda: server.serve(HOST, queries, 0.05, self._stop),
            lambda: watching.serve(HOST, console, self._stop),
        ):
            thread = threading.Thread(target=work, daemon=True)
            ends.callback(thread.join, 30)
            thread.start()
        ends.callback(self._stop.set)

    def _work(self, health: Health, metrics: JobMetrics) -> None:
        worker = LoopWorker(self.bench).open()
        at = 0
        while not self._stop.is_set():
            worker.cycle()
            at += 1
            for task in worker.group.tasks:
                task.figures.at = at
            # Like a driver, pass new report objects rather than changing the old ones.
            metrics.observe([TaskFigures.from_json(task.figures.to_json()) for task in worker.group.tasks])
            health.working()

    def _feed(self) -> None:
        """Send events of five users until the job is stopped, because rates cover the last ten seconds."""
        seed = 0
        while not self._stop.wait(1.0):
            seed += 1
            start_ms = FIXED_START_MS + seed * 10_000
            self.bench.produce(Options(count=200, keys=5, seed=seed, start_ms=start_ms, event_rate=20))


def looked_again(browser: Browser) -> bool:
    """Press the button that reloads a topic, and return whether a record is shown."""
    if browser.all("button:enabled.again"):
        browser.click("button.again")
    return bool(browser.texts("td.value b"))


@pytest.fixture
def working(platform: Platform, tmp_path: Path) -> Iterator[WorkingJob]:
    with ExitStack() as ends:
        bench = Bench(platform, "console", tmp_path)
        ends.callback(bench.close)
        yield WorkingJob(bench, ends)


def test_running_job_is_shown_with_rates(working: WorkingJob, browser: Browser, platform: Platform) -> None:
    browser.url = working.url
    browser.open("#/")
    browser.until_text(".jobs .badge", "running")
    browser.open("#/job/user-sessions")
    rate = "[data-rate='topic user_activity > s0']"
    browser.until(lambda: browser.texts(f"{rate}:not(.still)"), "the arrow of the input shows a rate", 90)
    assert browser.texts(rate)[0].endswith(" rec/s")
    browser.until_text(".store .detail", " rows · ")

    browser.click(".topology .store")
    browser.click("td.name button")
    browser.until(lambda: len(browser.all("tbody tr")) == 1, "one key is found")
    browser.click("button", "Follow live")
    browser.until_text("[role=status]", "following")
    browser.until(lambda: int(browser.texts("b.changes")[0].split()[0]) >= 3, "the push counts up")

    bad = (b"user <b>", b"not avro", {"partition": 2, "timestamp": FIXED_START_MS, "headers": [("trace", b"1")]})
    working.bench.send(bad)
    browser.open("#/errors/user-sessions")
    browser.until(lambda: looked_again(browser), "the failed record", 60)
    browser.until_text("td.value", "user <b>")
    assert "forebay errors replay user-sessions --dry-run" in browser.texts("code")
    endpoints = platform.endpoints
    command = ["replay", "user-sessions", "--application", working.bench.application]
    command += ["--bootstrap-servers", endpoints.bootstrap_servers, "--schema-registry-url", endpoints.registry_url]
    would = CliRunner().invoke(errors, [*command, "--dry-run"]).output
    assert f"1 record would be sent to {INPUT}" in would
    assert f"1 record sent to {INPUT}" in CliRunner().invoke(errors, [*command, "--from", "beginning"]).output
    sent = [entry for entry in read_topic(working.bench.settings, INPUT)[2] if entry.value() == b"not avro"]
    assert len(sent) == 2
    assert {(record.key(), record.timestamp()[1], json.dumps(str(record.headers()))) for record in sent} == {
        (b"user <b>", FIXED_START_MS, json.dumps(str([("trace", b"1")])))
    }

    browser.open("#/")
    browser.until(lambda: browser.all(".plot path.line"), "the history is shown again after the page was reloaded")
    assert not browser.complaints()


@pytest.fixture
def task() -> WrittenTask:
    task = WrittenTask()
    task.publish()
    return task


@pytest.fixture
def consoles() -> Iterator[ExitStack]:
    with ExitStack() as ends:
        yield ends


def test_keys_and_values_are_text(consoles: ExitStack, browser: Browser, task: WrittenTask) -> None:
    odd = [HOSTILE, '"quo\'ted"', "a/b", "zero\0byte", "\u202eturned"]
    for key in odd:
        task.store("plain").put(key, Cell(json.dumps(HOSTILE)))
    task.publish()
    console = Console(["http://127.0.0.1:1"], job_of(task))
    consoles.callback(console.close)
    headers = {"error.message": HOSTILE, "error.stage": HOSTILE, "error.topic": HOSTILE, HOSTILE: HOSTILE}
    record = {"partition": 0, "offset": 0, "timestamp": 0, "key": HOSTILE, "value": {HOSTILE: HOSTILE}}
    console.records.records["user-sessions.errors"] = [{**record, "headers": headers}]
    browser.url = console.url
    browser.open("#/stores/user-sessions/plain")
    browser.until(lambda: len(browser.all("tbody tr")) == len(odd), "all keys are listed")
    assert {"zero\\u0000byte", "\\u202eturned", HOSTILE, "a/b"} <= set(browser.texts("td.name .key"))
    for key in ("a/b", "zero", HOSTILE):
        browser.open("#/stores/user-sessions/plain")
        browser.click("td.name button", key)
        browser.until(lambda: len(browser.all("tbody tr")) == 1, f"{key} is found")
    browser.open("#/errors/user-sessions")
    browser.until_text("td.value", HOSTILE)
    assert not browser.all("main img")
    assert browser.driver.title != "run"
    assert not browser.complaints()


def test_query_plan_is_shown_as_steps_and_as_a_graph(
    consoles: ExitStack, browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "plans.sql"
    file.write_text(
        "CREATE STREAM readings (sensor STRING KEY, area STRING, reading DOUBLE)"
        " WITH (KAFKA_TOPIC='readings', FORMAT='JSON');"
        "CREATE TABLE areas AS SELECT area, AVG(reading) AS mean FROM readings GROUP BY area;"
    )
    monkeypatch.setenv(sql_service.VARIABLE, str(file))
    plans = SqlPages(queryable(sql_service.JOB.program), list, list)  # type: ignore[arg-type]  # a plan asks neither of them
    server = HttpServer(plans.answer, HOST, 0)
    consoles.callback(server.close)
    watched = WatchedJob(sql_service.SERVICE, "plans", "http://127.0.0.1:1", f"http://{HOST}:{server.port}")
    console = Console([watched])
    consoles.callback(console.close)
    browser.url = console.url
    browser.open(f"#/sql/{watched.name}")
    browser.until(lambda: browser.all("textarea"), "the job speaks SQL")[0].send_keys("EXPLAIN areas;")
    browser.click("button.primary")
    browser.until(lambda: browser.all(".topology .node.store"), "the plan is drawn")
    assert "aggregate AVG" in " ".join(browser.texts("ol.plan li"))
    kinds = ("topic", "repartition", "store")
    assert [len(browser.all(f".topology .node.{kind}")) for kind in kinds] == [2, 1, 1]
    assert not browser.all(".topology a"), "no part of it runs, so nothing opens"
    assert not browser.complaints()


def test_a_token_is_required_and_a_wrong_one_reported(consoles: ExitStack, browser: Browser, task: WrittenTask) -> None:
    console = Console(["http://127.0.0.1:1"], job_of(task), TOKEN.encode())
    consoles.callback(console.close)
    browser.url = console.url
    browser.open("#/stores/user-sessions/plain")
    for token, said in (("two words", "one word of ASCII"), ("wrong-wrong-wrong", "not valid")):
        browser.until(lambda: browser.all("dialog input"), "the token is asked for")[0].send_keys(token)
        browser.click("dialog button")
        browser.until_text("dialog .wrong", said)
        browser.all("dialog input")[0].clear()
    browser.all("dialog input")[0].send_keys(TOKEN)
    browser.click("dialog button")
    browser.until_text("main h2", "plain")


def test_a_restore_is_shown_until_the_job_runs(consoles: ExitStack, browser: Browser) -> None:
    job = Job()
    consoles.callback(job.close)
    console = Console([job])
    consoles.callback(console.close)
    console.restores.places = [Restoring("user-sessions-0-task", n, 250, 1_000) for n in range(2)]
    console.look(1_700_000_000.0)
    browser.url = console.url
    browser.open("#/job/user-sessions")
    browser.until(lambda: len(browser.all(".restore progress")) == 2, "a bar for each partition")
    assert browser.texts(".restore .number")[0] == "250 offsets of 1,000 offsets"
    bar = browser.all(".restore progress")[0]
    assert (bar.get_attribute("value"), bar.get_attribute("max")) == ("250", "1000")
    job.report(10, at=1)
    console.look(1_700_000_002.0)
    browser.until(lambda: not browser.all(".restore"), "the job runs")
    assert not browser.complaints()


def test_page_of_a_stopped_job_shows_restarts_and_lag(consoles: ExitStack, browser: Browser) -> None:
    job = Job()
    consoles.callback(job.close)
    console = Console([job])
    consoles.callback(console.close)
    console.backlog = {INPUT: 1_234}
    job.report(10, at=1)
    job.health.note_restart("worker", HOSTILE)
    console.look(1_700_000_000.0)
    job.report(30, at=2, errors=5)
    console.look(1_700_000_002.0)
    browser.url = console.url
    browser.open("#/job/user-sessions")
    browser.until_text(".tile.warn small", "25 % of the records read")
    browser.until_text("[aria-label='Restarts and states'] td", "worker replaced")
    assert HOSTILE in browser.texts("[aria-label='Restarts and states'] td")
    job.health.set_end("no such topic", 1)
    console.look(1_700_000_004.0)
    browser.until_text(".tile b", "1,234 rec")
    browser.until_text("[aria-label='Restarts and states'] td", "no such topic")
    assert not browser.complaints()


def test_engine_page_shows_queries_lag_and_ended_queries(consoles: ExitStack, browser: Browser) -> None:
    console = Console([])
    consoles.callback(console.close)
    browser.url = console.url
    browser.open("#/engines")
    browser.until_text(".note.empty", "forebay console --engine")
    query = {"query": "CTAS_T_0", "writes": "T", "topic": "t", "statement": HOSTILE, "reads": ["s"], "lag": 1_234}
    end = {"at": 1_700_000_000_000, "exit_code": 1, "reason": HOSTILE}
    shop = {"url": "http://a", "application": "shop", "state": "running", "at_ms": 1_700_000_060_000}
    console.engines = [{**shop, "queries": [query], "ends": [end]}, {"url": "http://b", "error": "Connection refused"}]
    browser.until_text("td", "1,234 rec")
    browser.until_text(".badge.running", "running")
    browser.until_text(".note.broken", "Connection refused")
    assert HOSTILE in browser.texts("td")
    browser.size(*NARROW)
    browser.until_text("td", "CTAS_T_0")
    browser.size(*browsers.WIDE)
    assert not browser.complaints()


CROSSED = """
const boxes = [...document.querySelectorAll(".topology .node")].map((node) => [node.dataset.node, node.getBBox()]);
return [...document.querySelectorAll(".topology path.arrow:not(.stored)")].flatMap((path) => {
  const points = [...Array(59).keys()].map((at) => path.getPointAtLength((path.getTotalLength() * (at + 1)) / 60));
  const inside = (point, box) =>
    point.x > box.x + 3 && point.x < box.x + box.width - 3 && point.y > box.y + 3 && point.y < box.y + box.height - 3;
  return boxes.filter(([, box]) => points.some((point) => inside(point, box))).map(([name]) => name);
});
"""


def test_no_arrow_of_a_topology_runs_behind_a_box(consoles: ExitStack, browser: Browser) -> None:
    try:
        for name in ("price-join", "order-stores", "sensor-views"):
            console = Console([WatchedJob(find_service(name), name, "http://127.0.0.1:1", "")])
            consoles.callback(console.close)
            browser.url = console.url
            for size in (browsers.WIDE, NARROW):
                browser.size(*size)
                browser.open(f"#/job/{name}")
                browser.until(lambda: browser.all(".topology svg"), "the picture is drawn")
                assert browser.driver.execute_script(CROSSED) == [], (name, size)
    finally:
        browser.size(*browsers.WIDE)


def test_console_handles_an_unreachable_job_a_second_tab_and_a_sleep(consoles: ExitStack, browser: Browser) -> None:
    job = Job()
    console = Console([job, "http://127.0.0.1:1"])
    job.report(10, at=1, tasks=64)
    console.look(1_700_000_000.0)
    browser.url = console.url
    browser.open("#/")
    browser.until_text(".jobs .badge.running", "running")
    browser.until_text(".reason.down", "is `forebay run order-stores` up?")
    first = browser.driver.current_window_handle
    browser.driver.switch_to.new_window("tab")
    browser.open("#/job/user-sessions")
    browser.until(lambda: len(browser.all(".flat tbody tr")) == 64, "64 tasks in a second tab")
    job.close()
    console.look(1_700_000_002.0)
    browser.until_text(".reason.down", "does not answer")
    browser.driver.close()
    browser.driver.switch_to.window(first)
    browser.until_text(".jobs .badge.down", "down")
    # A laptop that sleeps loses its connections. When it wakes, the page must resume.
    browser.driver.execute_cdp_cmd("Network.enable", {})
    conditions = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    browser.driver.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)
    browser.until_text("main", "is `forebay console` still running?")
    browser.until_text(".status.stale", "no answer")
    conditions |= {"offline": False, "downloadThroughput": -1, "uploadThroughput": -1}
    browser.driver.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)
    browser.until_text(".jobs .badge.down", "down")
    browser.until_text(".status.live", "live")
    console.close()


HIDDEN_CHIPS = """
return [...document.querySelectorAll(".chip")].filter((chip) => {
  const inner = chip.getBoundingClientRect(), outer = chip.parentElement.getBoundingClientRect();
  return inner.bottom > outer.bottom + 1 || inner.right > outer.right + 1 || inner.height < 24;
}).map((chip) => chip.textContent);
"""
PAGES = ("#/", "#/job/user-sessions", "#/stores/user-sessions", "#/sql/user-sessions", "#/errors/user-sessions")


def test_every_page_fits_a_phone_and_is_keyboard_accessible(
    consoles: ExitStack, browser: Browser, task: WrittenTask
) -> None:
    task.store("plain").put("k" * 300, Cell(json.dumps({"a": "x" * 2_000})))
    task.publish()
    console = Console(["http://127.0.0.1:1"], job_of(task))
    consoles.callback(console.close)
    browser.url = console.url
    try:
        browser.size(*NARROW)
        for page in PAGES:
            browser.open(page)
            browser.until(lambda: browser.all("main h1") and not browser.all(".loading"), f"{page} is shown")
            assert browser.driver.execute_script("return document.documentElement.scrollWidth") <= NARROW[0], page
            hidden = browser.driver.execute_script(HIDDEN_CHIPS)
            assert not hidden, f"{page}: these can't be chosen: {hidden}"
        browser.open("#/")
        browser.until(lambda: browser.all("td.name a"), "a job is listed")
        reached = []
        for _ in range(12):
            browser.press(Keys.TAB)
            reached.append(browser.driver.execute_script("return document.activeElement.textContent"))
            if reached[-1] == "user-sessions":
                break
        browser.press(Keys.ENTER)
        browser.until_text("main h1", "user-sessions")
    finally:
        browser.size(*browsers.WIDE)
    assert not browser.complaints()
