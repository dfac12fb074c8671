"""End-to-end latency: from a record's produce time to a read_committed consumer's receive time of its output.

    python -m benchmarks.latency [SERVICE] [--rate 1000] [--seconds 60]

The service must have one input topic, and its results must have the timestamp of the record that caused them. The
reference in the same run is a consumer of the input topic, which shows the latency of the broker. CPU usage is that of
the job's processes and of the broker, in cores, from the first event to the last.
"""

from __future__ import annotations

import statistics
import threading
import time
from pathlib import Path

import click
import psutil
from confluent_kafka import OFFSET_END, Consumer, TopicPartition

from benchmarks.backlog import codecs
from benchmarks.bench import SERVICE, JobProcess, platform
from forebay.catalog import Service, find_service
from forebay.kafka.settings import KafkaSettings
from forebay.producing.base import Options
from forebay.producing.run import produce

WARM_UP_SECONDS = 20


@click.command()
@click.argument("service", default=SERVICE)
@click.option("--rate", default=1_000, help="Events per second.")
@click.option("--seconds", default=60, help="Measured time, after the warm-up.")
@click.option("--arguments", default="", help="Further arguments of `forebay run`.")
def main(service: str, rate: int, seconds: int, arguments: str) -> None:
    """Run the benchmark."""
    with platform(service) as (home, kafka):
        measure(home, kafka, find_service(service), rate, seconds, arguments.split())


def measure(home: Path, kafka: KafkaSettings, service: Service, rate: int, seconds: int, arguments: list[str]) -> None:
    """Produce records at a steady rate while the job runs, and print the latencies after the warm-up."""
    ((topic, codec),) = codecs(kafka, service).items()
    options = Options(rate=rate, duration_s=WARM_UP_SECONDS + seconds, keys=1_000, seed=1)
    job = JobProcess(home, service.name, *arguments)
    job.wait_until_it_runs()
    began = time.time()
    consumers = [Latencies(kafka, name, began + WARM_UP_SECONDS) for name in (topic, service.output.name)]
    before = job_and_broker_cpu(job)
    produce(topic, options, kafka.producer(**{"linger.ms": 0}), codec, lambda _subject, _text: 0)
    after, elapsed = job_and_broker_cpu(job), time.time() - began
    for consumer in consumers:
        consumer.wait_for(rate * seconds)
    reference, job_latency = (consumer.close() for consumer in consumers)
    job.stop()
    print(f"{service.name}: {rate:,} events/s for {seconds} s, 4 partitions, 1,000 keys")
    for name, values in (("reference (input topic)", reference), ("job's output", job_latency)):
        print(
            f"  {name}: p50 {_quantile(values, 50):.0f} ms, p99 {_quantile(values, 99):.0f} ms, {len(values):,} records"
        )
    cpu = [(end - start) / elapsed for start, end in zip(before, after, strict=True)]
    print(f"  CPU: job {cpu[0]:.3f}, broker {cpu[1]:.3f} cores")
    print(f"  ratio of medians {_quantile(job_latency, 50) / max(1.0, _quantile(reference, 50)):.0f}")


def job_and_broker_cpu(job: JobProcess) -> tuple[float, float]:
    """Return the CPU time (s) of the job's processes, and of the broker and registry."""
    of_job = {process.pid for process in psutil.Process(job.process.pid).children(recursive=True)}
    others = [
        process.cpu_times()
        for process in psutil.Process().children(recursive=True)
        if process.pid not in of_job and process.name() == "java"
    ]
    return sum(job.cpu().values()), sum(times.user + times.system for times in others)


def _quantile(values: list[float], percent: int) -> float:
    return statistics.quantiles(values, n=100)[percent - 1] if len(values) > 1 else 0.0


class Latencies:
    """Consumer of a topic on a separate thread, which records the age of each record when it arrives."""

    def __init__(self, kafka: KafkaSettings, topic: str, since: float) -> None:
        self._consumer = Consumer(kafka.consumer(**{"group.id": f"bench-{topic}", "fetch.wait.max.ms": 10}))
        # Skip older records. They are not measured, and reading millions of them would disturb the measurement.
        self._consumer.assign([TopicPartition(topic, partition, OFFSET_END) for partition in range(4)])
        self._since, self._values = since, list[float]()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def wait_for(self, count: int, seconds: float = 60.0) -> None:
        """Wait until almost all records of the measured time have arrived, or `seconds` have passed."""
        deadline = time.monotonic() + seconds
        while len(self._values) < 0.99 * count and time.monotonic() < deadline:
            time.sleep(0.1)

    def close(self) -> list[float]:
        """Stop the consumer. Return the ages (ms) of the records that were produced after the warm-up."""
        self._closed.set()
        self._thread.join()
        self._consumer.close()
        return self._values

    def _read(self) -> None:
        while not self._closed.is_set():
            # Poll first. consume() alone would wait for a thousand records or its timeout, which would add latency.
            first = self._consumer.poll(0.1)
            messages = [] if first is None else [first, *self._consumer.consume(1_000, 0)]
            now = time.time() * 1000
            times = [m.timestamp()[1] for m in messages if m.error() is None]
            self._values += [now - at for at in times if at >= self._since * 1000]


if __name__ == "__main__":
    main(standalone_mode=False)
