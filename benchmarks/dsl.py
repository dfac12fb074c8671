"""CPU time per event of the service price-join in the DSL and of the same logic as a processor, in the engine alone.

`python -m benchmarks.dsl [EVENTS]` prints the CPU time per event (µs) of both, as the best of several rounds, and the
median of the difference between the two in a round.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks.price_join_by_hand import PriceJoin
from forebay.codec import Codec
from forebay.job import Job, load_job
from forebay.processor.engine import TaskEngine
from forebay.processor.engine_settings import EngineSettings
from forebay.processor.messages import Message
from forebay.producing.base import Options
from forebay.producing.sources import generate
from forebay.serde import local_codec
from forebay.service.wiring import task_codecs
from forebay.stores.memory import MemoryTable
from forebay.testing.shown import PipedRecord
from price_join.model import FoodBill, FoodOrder, MenuPrice
from price_join.settings import PriceJoinSettings

ROUNDS = 15
BATCH = 1_000
BY_HAND = Job(
    inputs={"menu_prices": MenuPrice, "food_orders": FoodOrder},
    outputs={"food_bills": FoodBill},
    settings=PriceJoinSettings,
    processor=PriceJoin,
    tables=frozenset({"menu_prices"}),
)


def records(topic: str, count: int) -> list[Message]:
    """Return records of a topic's producer as bytes."""
    records: list[Message] = []
    for offset, event in enumerate(generate(topic, Options(count=count, keys=200, event_rate=1_000))):
        data = local_codec("price-join", type(event.value)).encode(event.value)
        records.append(PipedRecord(topic, offset, event.key.encode(), data, event.timestamp, []))
    return records


def contract(_: str, record: type[Any]) -> Codec[Any]:
    """Return the codec of a record class by its contract, which topics and stores use."""
    return local_codec("price-join", record)


def cost(job: Job, streams: Sequence[list[Message]]) -> float:
    """Return the CPU time per event (µs)."""
    (part,) = job.topology
    processor, table = part.processor(PriceJoinSettings()), MemoryTable()
    codecs = task_codecs(job, part, processor, contract, contract, contract)
    engine = TaskEngine(processor, codecs, table, EngineSettings("price-join"))
    began, sent = time.process_time(), 0
    for batch, start in enumerate(range(0, len(streams[0]), BATCH)):
        engine.run([stream[start : start + BATCH] for stream in streams], 1 << 52)
        result = engine.finish(batch)
        sent += len(result.outputs)
        table.apply(result.changes, b"%d" % batch)
        engine.settle(batch)
    spent = time.process_time() - began
    assert sent > len(streams[1]) // 2, "orders are billed"
    return spent / sum(map(len, streams)) * 1e6


def main(events: int) -> None:
    """Print both CPU times, and the additional time of the DSL."""
    streams = [records(topic, events // 2) for topic in ("menu_prices", "food_orders")]
    in_dsl = load_job("price_join.job")
    both = [(cost(BY_HAND, streams), cost(in_dsl, streams)) for _ in range(ROUNDS)]
    by_hand, described = (min(item) for item in zip(*both, strict=True))
    added = median(one / other for other, one in both) - 1
    print(f"price-join by hand: {by_hand:.1f} us of CPU per event")
    print(f"price-join in the DSL: {described:.1f} us of CPU per event (rounds in pairs: median {added:+.1%})")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40_000)
