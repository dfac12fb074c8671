"""Archives with data of an earlier release: broker, registry, and checkpoints of jobs that were killed at work."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from confluent_kafka import Message
from service_bench import PARTITIONS, ServiceBench
from topic_reading import headers_of, read_topic

from forebay.kafka.admin import TopicAdmin
from forebay.kafka.topics import spec_of
from forebay.platform.broker import Broker
from forebay.platform.home import STATE_FILE
from forebay.producing.base import FIXED_START_MS, Options
from forebay.runtime.driver.checkpoint import LOCK

DATA = Path(__file__).parent / "data"
HOME = "home"
FOLDER = "@FOLDER@"
PLATFORM = (STATE_FILE, f"{Broker.name}/data", "registry")
"""The parts of a platform's directory that are archived. Settings and logs are recreated."""

COMMIT_RECORDS = 10
SMALL_COMMITS = ("--max-records-per-commit", str(COMMIT_RECORDS), "--checkpoint-interval-ms", "1000")
COUNT = 1_000
"""Number of records in each input topic."""

LONGEST_DELAY_MS = 30_000
GRACE_MS = 4 * LONGEST_DELAY_MS


EVENTS = Options(
    count=COUNT,
    keys=40,
    seed=31,
    out_of_order=0.1,
    duplicates=0.05,
    malformed=0.05,
    start_ms=FIXED_START_MS,
    event_rate=5,
    max_delay_ms=LONGEST_DELAY_MS,
)
SERVICES: Mapping[str, tuple[str, ...]] = {
    "user-sessions": (),
    "order-stores": (),
    "price-join": ("--set", f"grace_ms={GRACE_MS}", "--set", "history_retention_ms=3600000"),
}
"""The jobs in the archives, with their arguments."""


class ReleasedBench(ServiceBench):
    """A service with its topics in the archives."""

    def _prepare_topics(self) -> None:
        for topic in self.service.inputs:
            self._wait_for_leaders(topic.name)
        repartitions = self.service.repartitions(self.application, PARTITIONS)
        sides = (self.service.errors, self.service.late)
        TopicAdmin(self.settings).create(spec_of(topic) for topic in (*repartitions, *sides))
        self._refused = {_reported_place(report) for report in self.errors()}

    def errors(self) -> list[Message]:
        """Return the errors of the release, whose topic was named after the service, and of later releases."""
        return [*read_topic(self.settings, f"{self.service.name}.errors")[0], *super().errors()]

    def late(self) -> list[Message]:
        """Return the late records of the release, and of later releases."""
        return [*read_topic(self.settings, f"{self.service.name}.late")[0], *super().late()]

    def _is_delete(self, message: Message) -> bool:
        """Return whether a record is a delete. Release 0.1 did not support deletes, and reported them as errors."""
        place = message.topic(), message.partition(), message.offset()
        return super()._is_delete(message) and place not in self._refused


def application(service: str) -> str:
    """Return the application id of a service's job in the archives."""
    return f"released-{service}"


def checkpoint(service: str) -> str:
    """Return the name of the checkpoint's directory."""
    return f"{application(service)}-checkpoint"


def pack(archive: Path, folder: Path, name: str, parts: Iterable[str] = (".",)) -> None:
    """Write an archive of `parts` of the directory `name` in `folder`.

    The archive does not depend on the machine: owners, times and checksums of Hadoop's file system are omitted, and
    a placeholder replaces `folder` in the paths of the checkpoint.
    """

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        file = Path(member.name).name
        if file.endswith(".lock.db") or file == LOCK or (file.startswith(".") and file.endswith(".crc")):
            return None
        member.uid = member.gid = member.mtime = 0
        member.uname = member.gname = ""
        return member

    for file in _with_paths(folder / name):
        file.write_text(file.read_text().replace(f"file:{folder}/", f"{FOLDER}/"))
    with tarfile.open(archive, "w:xz", preset=9) as packed:
        for part in sorted(parts):
            packed.add(folder / name / part, f"{name}/{part}", filter=plain)


def unpack(release: str, folder: Path) -> None:
    """Unpack the data of a release."""
    for archive in sorted((DATA / release).glob("*.tar.xz")):
        shutil.unpack_archive(archive, folder)  # extractall has its argument `filter` only since Python 3.11.4
    for file in _with_paths(folder):
        file.write_text(file.read_text().replace(f"{FOLDER}/", f"file:{folder}/"))


def _reported_place(report: Message) -> tuple[str, int, int]:
    headers = dict(headers_of(report))
    topic, partition, offset = (headers[f"error.{name}"] or b"" for name in ("topic", "partition", "offset"))
    return topic.decode(), int(partition), int(offset)


def _with_paths(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("state/*/_metadata/v2/*") if file.name.isdecimal()]
