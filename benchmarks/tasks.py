"""Start time, memory, threads, and CPU usage at rest and under load of a job with many tasks.

    python -m benchmarks.tasks [--tasks 64] [--groups 4]

The reference in the same run is the same job with 4 tasks in one group.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import click
import psutil

from benchmarks.backlog import codecs
from benchmarks.bench import SERVICE, TOPIC, JobProcess, platform
from forebay.catalog import find_service
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import spec_of
from forebay.producing.base import Options
from forebay.producing.run import produce
from forebay.runtime.positions import committed_positions

RATE = 500
SECONDS = 20
_FEW_THREADS = 5


@dataclass(frozen=True, slots=True)
class Found:
    """Measurements of a job, in seconds, cores, MB and numbers."""

    start: float
    at_rest: float
    under_load: float
    memory: float
    workers: float
    threads: int
    commits: float


@click.command()
@click.option("--tasks", default=64, help="State tasks of the job that is measured.")
@click.option("--groups", default=4, help="Its task groups, a worker process each.")
def main(tasks: int, groups: int) -> None:
    """Run the benchmark."""
    reference = measure(4, 1)
    show(4, 1, reference)
    result = measure(tasks, groups)
    show(tasks, groups, result)
    ratios = {
        "start": result.start / reference.start,
        "at rest": result.at_rest / reference.at_rest,
        "under load": result.under_load / reference.under_load,
        "memory": result.memory / reference.memory,
    }
    print("  to the reference: " + ", ".join(f"{name} {ratio:.1f} x" for name, ratio in ratios.items()))


def measure(tasks: int, groups: int) -> Found:
    """Run the job with the number of tasks, on topics with the same number of partitions."""
    with platform() as (home, kafka):
        service = find_service(SERVICE)
        admin = TopicAdmin(kafka)
        admin.delete(topic.name for topic in service.topics())
        grown = [spec_of(topic) for topic in service.topics(tasks=tasks)]
        shared = {topic.name for topic in (*service.inputs, *service.outputs)}
        admin.create(replace(spec, partitions=tasks) if spec.name in shared else spec for spec in grown)
        send(kafka, Options(rate=0, count=100 * tasks, keys=10 * tasks, seed=1, event_rate=1_000))
        begun = time.perf_counter()
        job = JobProcess(home, SERVICE, "--groups", str(groups), "--slots", str(groups))
        while len(committed_positions(kafka, service, SERVICE, tasks)) < tasks:
            if job.process.poll() is not None or time.perf_counter() - begun > 600:
                raise SystemExit(job.log()[-2000:])
            time.sleep(0.2)
        start = time.perf_counter() - begun
        time.sleep(10)
        at_rest, _ = cores(job, lambda: time.sleep(SECONDS))
        load = Options(rate=RATE, duration_s=SECONDS, keys=10 * tasks, seed=2)
        under_load, commits = cores(job, lambda: send(kafka, load))
        memory, workers, threads = resources(job)
        job.stop()
        return Found(start, at_rest, under_load, memory, workers / tasks, threads, commits)


def send(kafka: KafkaSettings, options: Options) -> None:
    """Write events."""
    codec = codecs(kafka, find_service(SERVICE))[TOPIC]
    produce(TOPIC, options, kafka.producer(), codec, lambda _s, _t: 0)


def cores(job: JobProcess, work: Callable[[], object]) -> tuple[float, float]:
    """Return the CPU usage of the job (cores) and the commits of its tasks per second while `work` runs."""

    cpu, commits, begun = sum(job.cpu().values()), job.value("forebay_commits_total"), time.perf_counter()
    work()
    seconds = time.perf_counter() - begun
    return (sum(job.cpu().values()) - cpu) / seconds, (job.value("forebay_commits_total") - commits) / seconds


def resources(job: JobProcess) -> tuple[float, float, int]:
    """Return the memory (MB) of all processes and of the workers, and the largest number of threads of a worker."""
    root = psutil.Process(job.process.pid)
    memory, workers, threads = 0.0, 0.0, 0
    for process in (root, *root.children(recursive=True)):
        with suppress(psutil.Error), process.oneshot():
            resident = process.memory_info().rss / 1e6
            memory += resident
            # A worker has threads of Kafka clients; the daemon that it was forked from has none.
            if process.name() != "java" and process != root and process.num_threads() > _FEW_THREADS:
                workers, threads = workers + resident, max(threads, process.num_threads())
    return memory, workers, threads


def show(tasks: int, groups: int, found: Found) -> None:
    """Print the measurements."""
    load = f"{found.under_load:.2f} at {RATE} events/s, {found.commits:.0f} commits/s of tasks"
    workers = f"{found.workers:.1f} a task in its worker; {found.threads} threads a worker"
    print(f"user-sessions, {tasks} tasks in {groups} groups")
    print(f"  {found.start:.1f} s from the process's start until every task had committed")
    print(f"  {found.at_rest:.3f} cores at rest; {load}")
    print(f"  {found.memory:.0f} MB in all, of it {workers}", flush=True)


if __name__ == "__main__":
    main(standalone_mode=False)
