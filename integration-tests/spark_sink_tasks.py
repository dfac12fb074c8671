"""A driver of the sink without Spark, which starts within a second. It has two task slots and Spark's logs.

Each file of the source is a micro-batch. As in Spark, its plan is logged in `offsets` before its tasks run, and its
number in `commits` afterwards. The tasks are those of the sink.
"""

from __future__ import annotations

import json
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from forebay.serde.varint import integer_bytes
from forebay.spark.sink_markers import Markers
from forebay.spark.sink_options import read_options
from forebay.spark.sink_records import SinkRecord
from forebay.spark.sink_transaction import PartitionWriter

_FRAME = b"\0\0\0\0\1\2"


def drive(given: dict[str, Any]) -> None:
    """Write the micro-batches that are not in the log of completed ones."""
    options, checkpoint = read_options(given["options"]), Path(given["checkpoint"])
    for log in ("offsets", "commits"):
        (checkpoint / log).mkdir(parents=True, exist_ok=True)
    metadata = checkpoint / "metadata"
    if not metadata.exists():
        _log(metadata, json.dumps({"id": str(uuid.uuid4())}))
    markers = Markers(options.settings, options.topic, f"{options.prefix}-{json.loads(metadata.read_text())['id']}")
    run = str(uuid.uuid4())
    files = sorted(Path(given["folder"]).glob("*.json"))
    done = len(list((checkpoint / "commits").glob("[0-9]*")))
    with ThreadPoolExecutor(given["cores"]) as slots:
        for batch, file in enumerate(files[done:], done):
            _log(checkpoint / "offsets" / str(batch), file.name)
            numbers = [json.loads(line)["id"] for line in file.read_text().splitlines()]
            parts = [
                [
                    SinkRecord(b"%d" % number, _FRAME + integer_bytes(number), None, 0, -1)
                    for number in numbers
                    if number % given["partitions"] == partition
                ]
                for partition in range(given["partitions"])
            ]
            tasks = [
                slots.submit(
                    PartitionWriter(
                        markers=markers,
                        partition=partition,
                        batch=batch,
                        run=run,
                        schema_ids=(0, 1),
                        repeat_seconds=60.0,
                    ).write,
                    part,
                )
                for partition, part in enumerate(parts)
            ]
            for task in tasks:
                task.result()
            _log(checkpoint / "commits" / str(batch), "")


def _log(file: Path, text: str) -> None:
    target = file.with_name(f".{file.name}.tmp")
    target.write_text(text)
    target.rename(file)


if __name__ == "__main__":
    print("started", flush=True)
    drive(json.loads(sys.argv[1]))
