"""Memory of a query server, duration of pull queries, and latency of push queries, at a running job.

    python -m benchmarks.queries [--rows 100000] [--rate 1000] [--seconds 30]

The references in the same run are the server's /healthz, which reads no rows, for pull queries, and a read_committed
consumer of the job's output for push queries.
"""

from __future__ import annotations

import http.client
import json
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import click
import psutil

from benchmarks.backlog import codecs
from benchmarks.bench import SERVICE, TOPIC, JobProcess, platform
from benchmarks.latency import Latencies
from forebay.catalog import find_service
from forebay.kafka.settings import KafkaSettings
from forebay.producing.base import Options
from forebay.producing.run import produce

STORE = "user-profiles"
PULLS = 5_000


@click.command()
@click.option("--rows", default=100_000, help="Users in the store before the measurement.")
@click.option("--rate", default=1_000, help="Events per second for the pushes.")
@click.option("--seconds", default=30, help="Measured time of the pushes.")
def main(rows: int, rate: int, seconds: int) -> None:
    """Run the benchmark."""
    with platform() as (home, kafka):
        send(kafka, Options(rate=0, count=3 * rows, keys=rows, seed=1, event_rate=20_000))
        job = JobProcess(home, SERVICE, "--trigger", "available-now")
        job.wait()
        print(f"{job.value('forebay_state_bytes') / 1e6:.1f} MB of keys and values")
        files = ("--store-directory", str(home / "replica"))
        start_server(home, "in files", *files).stop()
        start_server(home, "in files, again", *files).stop()
        server = start_server(home, "in memory")
        try:
            pulls(server.port)
            pushes(home, kafka, server.port, rate, seconds)
        finally:
            server.stop()


def send(kafka: KafkaSettings, options: Options) -> None:
    """Write events."""
    codec = codecs(kafka, find_service(SERVICE))[TOPIC]
    produce(TOPIC, options, kafka.producer(**{"linger.ms": 0}), codec, lambda _s, _t: 0)


def start_server(home: Path, where: str, *arguments: str) -> JobProcess:
    """Start a query server, wait until it has read all rows, and print the time and its memory."""
    begun = time.perf_counter()
    server = JobProcess(home, SERVICE, *arguments, command="queries")
    while not server.value("forebay_queries_caught_up_timestamp_seconds"):
        if server.process.poll() is not None or time.perf_counter() - begun > 300:
            raise SystemExit(server.log()[-2000:])
        time.sleep(0.1)
    seconds, rows = time.perf_counter() - begun, server.value("forebay_queries_rows")
    memory = psutil.Process(server.process.pid).memory_info().rss
    print(f"  {where}: {rows:,.0f} rows there {seconds:.1f} s from the process's start; {memory / 1e6:.0f} MB resident")
    return server


def pulls(port: int) -> None:
    """Print the duration of pull queries, which are sent one after the other on one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)

    def ask(path: str) -> bytes:
        connection.request("GET", path)
        return connection.getresponse().read()

    keys = [entry["key"] for entry in json.loads(ask(f"/stores/{STORE}?limit=1000"))["entries"]]
    reference = measure(ask, ["/healthz"])
    print(f"  reference (/healthz): p50 {reference[0]:.2f} ms, p99 {reference[1]:.2f} ms")
    for name, paths in {
        "a key": [f"/stores/{STORE}/{key}" for key in keys],
        "100 entries from a key on": [f"/stores/{STORE}?limit=100&from={key}" for key in keys],
    }.items():
        median, most = measure(ask, paths)
        print(f"  {name}: p50 {median:.2f} ms, p99 {most:.2f} ms, ratio of medians {median / reference[0]:.1f}")


def measure(ask: Callable[[str], bytes], paths: list[str]) -> tuple[float, float]:
    """Return the median and the 99th percentile (ms)."""
    taken = []
    for number in range(PULLS):
        begun = time.perf_counter()
        ask(paths[number % len(paths)])
        taken.append(1000 * (time.perf_counter() - begun))
    quantiles = statistics.quantiles(taken, n=100)
    return quantiles[49], quantiles[98]


def pushes(home: Path, kafka: KafkaSettings, port: int, rate: int, seconds: int) -> None:
    """Print the age of changes when a push query delivers them, while the job runs."""
    warm_up = 20
    job = JobProcess(home, SERVICE)
    job.wait_until_it_runs()
    since = time.time() + warm_up
    output, pushed = Latencies(kafka, "user_session_stats", since), Pushed(port, since)
    send(kafka, Options(rate=rate, duration_s=warm_up + seconds, keys=1_000_000, seed=2))
    output.wait_for(rate * seconds)
    reference, ages = output.close(), pushed.ages
    job.stop()
    print(f"  pushes at {rate:,} events/s: age of a change from its event's time, {len(ages):,} changes")
    for name, values in (("reference (output topic)", reference), ("change", ages)):
        quantiles = statistics.quantiles(values, n=100)
        print(f"    {name}: p50 {quantiles[49]:.0f} ms, p99 {quantiles[98]:.0f} ms")
    print(f"    ratio of medians {statistics.median(ages) / statistics.median(reference):.2f}")


class Pushed:
    """Push query on a separate thread, which records the age of each change when it arrives."""

    def __init__(self, port: int, since: float) -> None:
        self.ages: list[float] = []
        self._since = since
        self._url = f"http://127.0.0.1:{port}/changes/{STORE}"
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with urlopen(self._url, timeout=60) as response:
            for line in response:
                if line.startswith(b"event: end"):
                    return
                if line.startswith(b"data: "):
                    at = json.loads(line[6:])["value"]["last_activity"]
                    if at >= self._since * 1000:
                        self.ages.append(time.time() * 1000 - at)


if __name__ == "__main__":
    main(standalone_mode=False)
