"""Create the test data of a release. Its jobs run on an embedded platform and are killed after a snapshot.

    git checkout RELEASE && python integration-tests/data/make_release.py NAME

writes integration-tests/data/NAME. It must run with the code of that release, whose data is stored.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

from released import (
    COMMIT_RECORDS,
    COUNT,
    DATA,
    EVENTS,
    HOME,
    PLATFORM,
    SERVICES,
    SMALL_COMMITS,
    application,
    checkpoint,
    pack,
)
from service_bench import PARTITIONS, ServiceBench

from forebay.platform import Platform


def leave(bench: ServiceBench, service: str) -> None:
    """Run a service's job and kill it between two commits after a snapshot."""
    for topic in bench.service.inputs:
        bench.produce(EVENTS, topic=topic.name)
    positions = bench.positions()
    job = bench.job(*SMALL_COMMITS)
    job.until(lambda: positions.commits() >= 4 * PARTITIONS and bool(bench.snapshots()), "a snapshot is written")
    job.kill()
    read, sent = positions.used_offsets(topic.name for topic in bench.service.inputs), len(bench.service.inputs) * COUNT
    positions.close()
    if sent - read < 2 * COMMIT_RECORDS:
        raise SystemExit(f"{service}: the job was killed too late, too few records are waiting: run the command again")
    print(f"{service}: killed after {read} of {sent} records")


def main() -> None:
    """Write the archives."""
    target = DATA / sys.argv[1]
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Platform(folder / HOME) as platform:
            for service, arguments in SERVICES.items():
                bench = ServiceBench(platform, service, application(service), folder, arguments)
                try:
                    leave(bench, service)
                finally:
                    bench.close()
        pack(target / "platform.tar.xz", folder, HOME, PLATFORM)
        for service in SERVICES:
            pack(target / f"{service}.tar.xz", folder, checkpoint(service))
    for archive in sorted(target.glob("*.tar.xz")):
        print(f"{archive.name}: {archive.stat().st_size} bytes")


if __name__ == "__main__":
    main()
