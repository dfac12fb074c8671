"""Size and first rendering time of the console's pages, and CPU time of the console while a page is open.

    python -m benchmarks.console

The console shows synthetic metrics of 64 tasks, and a store with a million keys at a query server. The benchmark needs
Chromium with its driver, and a running platform (`forebay up`).
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from importlib.resources import files
from pathlib import Path

import psutil

from forebay.http.server import HttpServer
from forebay.platform.ports import HOST, free_port
from forebay.queries.pages import QueryPages

sys.path.append(str(Path(__file__).parents[1] / "integration-tests"))

from browser import Browser

from forebay.console.job_address import NoAnswer, page
from forebay.testing.cell import Cell
from tests.console.watching import Job
from tests.queries.written import WrittenTask, job_of

TASKS, KEYS, SECONDS = 64, 1_000_000, 60.0


def stores() -> HttpServer:
    """Return a query server for a store with a million keys."""
    task = WrittenTask()
    store, cell = task.store("plain"), Cell('{"count": 42, "total": 13.5}')
    for number in range(KEYS):
        store.put(f"customer-{number:07}", cell)
        if number % 50_000 == 0:
            task.publish()
    task.publish()
    result = job_of(task)
    return HttpServer(QueryPages(lambda: result).answer, HOST, 0)


def work(job: Job, stop: threading.Event) -> None:
    """Report a thousand records per second for each of 64 tasks."""
    at = 1
    while not stop.wait(1.0):
        at += 1
        job.report(at * 1_000, at, TASKS)


def answers(url: str) -> bool:
    """Return whether a page answers."""
    try:
        return page(url)[0] == 200
    except NoAnswer:
        return False


def main() -> None:
    """Run the benchmark."""
    stop, job, queries, port = threading.Event(), Job(), stores(), free_port()
    threading.Thread(target=work, args=(job, stop), daemon=True).start()
    command = [sys.executable, "-m", "forebay.cli.main", "console", f"user-sessions={job.url}"]
    command += ["--http-port", str(port), "--queries", f"user-sessions=http://{HOST}:{queries.port}"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    browser = Browser(f"http://{HOST}:{port}")
    try:
        console = psutil.Process(process.pid)
        while not answers(f"http://{HOST}:{port}/healthz"):
            time.sleep(0.2)
        time.sleep(10)
        weight = sum(len(file.read_bytes()) for file in (files("forebay.console") / "pages").iterdir())
        print(f"pages: {weight / 1000:.0f} kB")
        for shown in ("#/", "#/job/user-sessions"):
            browser.open(shown)
            browser.until(lambda: browser.texts("main .badge"), "a job is shown", 60)
            script = "return [performance.getEntriesByName('first-contentful-paint')[0]?.startTime, performance.now()]"
            paint, complete = browser.driver.execute_script(script)
            print(f"{shown}: first picture {paint:.0f} ms, figures within {complete:.0f} ms")
        before, begun = sum(console.cpu_times()[:2]), time.monotonic()
        time.sleep(SECONDS)
        cpu = (sum(console.cpu_times()[:2]) - before) / (time.monotonic() - begun)
        print(f"the job's page open, {TASKS} tasks: CPU {100 * cpu:.1f} % of a core", end="")
        print(f", memory {console.memory_info().rss / 1e6:.0f} MB")
        begun = time.monotonic()
        browser.open("#/stores/user-sessions/plain")
        browser.until(lambda: len(browser.all("tbody tr")) == 100, "the first hundred keys", 60)
        print(f"a store of {KEYS:,} keys without a key: {1000 * (time.monotonic() - begun):.0f} ms")
        begun = time.monotonic()
        browser.all("input[name=key]")[0].send_keys("customer-0765432")
        browser.click("form.query .primary")
        browser.until(lambda: len(browser.all("tbody tr")) == 1, "the key", 60)
        print(
            f"a key of it: {1000 * (time.monotonic() - begun):.0f} ms; memory {console.memory_info().rss / 1e6:.0f} MB"
        )
    finally:
        stop.set()
        browser.close()
        process.terminate()
        process.wait(30)
        queries.close()
        job.close()


if __name__ == "__main__":
    main()
