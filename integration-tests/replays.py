"""The expected results of each service, which independent replays compute for each task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from service_bench import HOUR_MS, PARTITIONS, Output, Record, ServiceBench, Value

from forebay.partitioner import partition_of
from tests.device_alerts import replay as device_alerts
from tests.order_stores import replay as order_stores
from tests.session_analytics import replay as session_analytics
from tests.user_sessions import replay as user_sessions
from tests.windowed_metrics import replay as windowed_metrics

Stores = dict[str, list[Value]]


@dataclass(frozen=True, slots=True)
class Replayed:
    """The expected results of a service.

    Args:
        outputs: Outputs in order, by partition. If the results of a service can interleave, they are by `by_key`.
        stores: Values of each store.
        refused: Records that can be decoded but are sent to `.errors`. None if the replay doesn't compute them.
        late: Records that are sent to `.late`. None if the replay doesn't compute them.
        leftovers: Additional values that a store may contain, whose retention has ended but which were not yet deleted.
    """

    outputs: dict[Any, list[Any]] = field(default_factory=dict)
    stores: Stores = field(default_factory=dict)
    refused: int | None = None
    late: int | None = None
    leftovers: Stores = field(default_factory=dict)


Partitions = Mapping[int, list[Record]]


def _user_sessions(partitions: Partitions) -> Replayed:
    replayed = Replayed(stores={"user-profiles": []}, late=0)
    for partition, records in partitions.items():
        replayed.outputs[partition], users = user_sessions.replay(records)
        replayed.stores["user-profiles"] += users.values()
    return replayed


def _device_alerts(partitions: Partitions) -> Replayed:
    replayed = Replayed(stores={"devices": []}, late=0)
    for partition, records in partitions.items():
        replayed.outputs[partition], stores = device_alerts.replay(records)
        replayed.stores["devices"] += stores["devices"].values()
    return replayed


def _windowed_metrics(partitions: Partitions) -> Replayed:
    outputs, late = {}, 0
    windows: list[Value] = []
    for partition, records in partitions.items():
        task = windowed_metrics.Replay(300_000, 60_000, 3_600_000, "both", 300_000, 10, 100, 600_000)
        for key, value, timestamp in records:
            task.take(key, value, timestamp)
        outputs[partition] = task.outputs
        windows += task.stored_windows().values()
        late += len(task.late)
    return Replayed(outputs, {"metric-windows": windows}, late=late)


def _session_analytics(partitions: Partitions) -> Replayed:
    outputs, late = {}, 0
    stores: Stores = {"sessions": [], "profiles": []}
    leftovers: list[Value] = []
    for partition, records in partitions.items():
        task = session_analytics.Task(30_000, 0, HOUR_MS, 100, 600_000)
        for key, value, timestamp in records:
            task.take(key, value, timestamp)
        outputs[partition] = task.outputs
        late += len(task.late)
        leftovers += task.past_retention(HOUR_MS // 64 + 1)
        retained = task.stores()
        stores["sessions"] += [entry["value"] for entry in retained["sessions"]]
        stores["profiles"] += retained["profiles"].values()
    return Replayed(outputs, stores, late=late, leftovers={"sessions": leftovers})


def _order_stores(partitions: Partitions) -> Replayed:
    records = [record for partition in sorted(partitions) for record in partitions[partition]]

    def task_of(key: str) -> int:
        return partition_of(key.encode(), PARTITIONS)

    outputs, stores = order_stores.replay(records, task_of=task_of)
    return Replayed(
        order_stores.steps_by_order(outputs), {name: [*rows.values()] for name, rows in stores.items()}, late=0
    )


def _in_order(outputs: dict[int, list[Output]]) -> dict[Any, list[Any]]:
    return dict(outputs)


def _by_order(outputs: dict[int, list[Output]]) -> dict[Any, list[Any]]:
    return order_stores.steps_by_order(output for part in outputs.values() for output in part)


REPLAYS: Mapping[str, Callable[[Partitions], Replayed]] = {
    "user-sessions": _user_sessions,
    "windowed-metrics": _windowed_metrics,
    "session-analytics": _session_analytics,
    "device-alerts": _device_alerts,
    "order-stores": _order_stores,
}

VIEWS: Mapping[str, Callable[[dict[int, list[Output]]], dict[Any, list[Any]]]] = {"order-stores": _by_order}


def view(service: str, outputs: dict[int, list[Output]]) -> dict[Any, list[Any]]:
    """Return a service's outputs in its replay's form."""
    return VIEWS.get(service, _in_order)(outputs)


def compare(name: str, found: Mapping[Any, list[Any]], expected: Mapping[Any, list[Any]]) -> None:
    """Fail at the first output that differs from the expected one, is missing or is surplus."""
    for key, wanted in expected.items():
        ours = found.get(key, [])
        for index, (one, other) in enumerate(zip(ours, wanted, strict=False)):
            assert one == other, f"{name}: output {index} of {key} differs"
        more = ours[len(wanted) :] or wanted[len(ours) :]
        assert not more, f"{name}: {key} has {len(ours)} outputs instead of {len(wanted)}, the first: {more[0]}"


def check(name: str, bench: ServiceBench, fewest_unusable: int = 100) -> None:
    """Compare all results of a service with the replay of its whole input.

    Args:
        name: Name of the service.
        bench: The service.
        fewest_unusable: The input must have more invalid records than this.
    """
    received = bench.read_input()
    replayed = REPLAYS[name](received.records)
    result = view(name, bench.outputs())
    assert result.keys() == {key for key, outputs in replayed.outputs.items() if outputs} | result.keys()
    compare(name, result, replayed.outputs)
    assert sum(map(len, replayed.outputs.values())) > 100, f"{name}: the input gives too few outputs to compare"
    for store, values in replayed.stores.items():
        rows = Counter(frozen(value) for part in bench.changelog(store).values() for value in part.values())
        wanted, leftovers = Counter(map(frozen, values)), Counter(map(frozen, replayed.leftovers.get(store, ())))
        assert not wanted - rows, f"{name}: the store {store} lacks rows"
        assert rows - wanted <= leftovers, f"{name}: the store {store} has surplus rows"
        assert values, f"{name}: the input leaves the store {store} empty"
    refused = bench.check_errors(received.unusable)
    assert {dict(message.headers() or [])["error.stage"] for message in refused} <= {b"process"}
    assert len(received.unusable) > fewest_unusable
    if replayed.late is not None:
        assert len(bench.late()) == replayed.late


def frozen(value: Any) -> Any:
    """Return a hashable form of a value, which is equal for equal values in any order of fields."""
    if isinstance(value, dict):
        return frozenset((name, frozen(part)) for name, part in value.items())
    return tuple(map(frozen, value)) if isinstance(value, list | tuple) else value
