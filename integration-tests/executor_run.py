"""A run of a test's service in several executors, under load."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from executor_job import ExecutorJob
from lease_changes import change_leases
from open_transactions import open_transactions
from own_service import OwnService
from own_topics import settings_of
from steady_load import Sent, SteadyLoad
from topic_reading import PositionWatch, read_topic

from forebay.catalog import find_service
from forebay.platform import Endpoints

EXECUTORS = 3


class ExecutorRun:
    """The job, its load and its positions.

    Args:
        tasks: Number of tasks, each of which is a task group.
        records: Records to send, without end.
        rate: Records per second.
    """

    def __init__(
        self, service: OwnService, endpoints: Endpoints, folder: Path, tasks: int, records: Iterator[Sent], rate: int
    ) -> None:
        self.settings, self.entry = settings_of(endpoints), find_service(service.name)
        self._service, self._folder, self._tasks = service, folder, tasks
        self._places = [(f"{service.name}-{part}-task", n) for part in range(self.entry.stages) for n in range(tasks)]
        self._positions = PositionWatch(self.settings, self._places)
        self._load = SteadyLoad(self.settings, records, rate)
        self._job = self._start()

    def replace_in_turn(self, count: int, *, clean: bool) -> None:
        """Replace the oldest executor several times. Before each time and at the end, wait until every task commits.

        Args:
            count: Number of replacements.
            clean: Whether executors are decommissioned. If not, they are killed.
        """
        self._job.until(lambda: self._commits().keys() == set(self._places), "every task has committed")
        self._job.until_complete()
        for _ in range(count):
            self._until_committed()
            oldest = min(self._job.executors(), key=lambda process: process.create_time())
            if clean:
                first = self.entry.inputs[0].name
                self._job.decommission(oldest, lambda: change_leases(self.settings, self._service.name, first))  # noqa: B023
            else:
                self._job.kill_executor(oldest)
        self._until_committed()

    def end(self, *last: Sent) -> list[Sent]:
        """End the load and the job, process everything, and return the records that were sent.

        Args:
            last: Records to send after the others. They are not returned.
        """
        sent = self._load.close()
        self._load.send(*last)
        assert self._job.terminate() == 0, self._job.text()
        self._job = self._start("--trigger", "available-now")
        assert self._job.finish() == 0, self._job.text()
        topics = [topic.name for topic in self.entry.topics(self._service.name, self._tasks)]
        assert open_transactions(self.settings, topics) == {}
        for topic in (self.entry.errors.name, self.entry.late.name):
            assert not any(read_topic(self.settings, topic).values()), topic
        return sent

    def close(self) -> None:
        """End the processes and the load that still run."""
        self._load.close()
        self._job.kill()
        self._positions.close()

    def _start(self, *options: str) -> ExecutorJob:
        arguments = [*self._service.command, *options]
        return ExecutorJob(arguments, self._folder, self._service.environment, EXECUTORS, self._tasks)

    def _commits(self) -> dict[tuple[str, int], int]:
        return {place: position["n"] for place, position in self._positions.read().items()}

    def _until_committed(self) -> None:
        before = self._commits()

        def have_all() -> bool:
            now = self._commits()
            return all(now[place] > count for place, count in before.items())

        self._job.until(have_all, "every task commits")
