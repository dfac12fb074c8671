"""Changelog rows of every type of store become rows of a DataFrame, or are reported as errors."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from forebay.catalog import Service, find_service
from forebay.codec import DecodeError
from forebay.formats import LONG, no_contracts
from forebay.kafka.settings import KafkaSettings
from forebay.processor import Context, Processor
from forebay.runtime.changelog.sub_topology_log import sub_topology_log, sub_topology_logs
from forebay.runtime.protocol.snapshot_mark import MARK
from forebay.serde import load_contract
from forebay.spark.avro_columns import avro_column
from forebay.spark.errors import OptionError
from forebay.spark.records import record_batch
from forebay.spark.source import ForebayDataSource
from forebay.spark.source_options import Mode
from forebay.spark.store_columns import microseconds, store_schema
from forebay.spark.store_declaration import DeclaredStore, StoreName, declared_store
from forebay.spark.store_entries import Record, StoreEntries, compact
from forebay.spark.store_options import names_store, read_store_options
from forebay.stores import KeyValueStore, SessionStore, TimestampedKeyValueStore, VersionedKeyValueStore, WindowStore
from forebay.stores.buffers import JoinBuffer, SuppressBuffer
from forebay.stores.keyed import MARK as KEYED
from forebay.stores.keyed import text_of
from forebay.stores.keys import pack_time, terminate
from forebay.stores.listvalue import ListValueStore
from forebay.stores.ttl import TtlKeyValueStore
from forebay.stores.values import Stamped
from forebay.testing import TestDriver
from tests.dsl.every_operator import JOB, TASKS, records
from tests.queries.test_contents import SERVICE

KAFKA = KafkaSettings(bootstrap_servers="x:1", schema_registry_url="http://x")
DECLARED = {
    store.name: DeclaredStore(SERVICE, log, store)
    for log in sub_topology_logs(SERVICE, "driven", {})
    for store in log.stores
}
NAMES = sorted(DECLARED)
SESSIONS = find_service("user-sessions")
TIMES = ("timestamp", "window_start", "window_end", "session_start", "session_end", "valid_from", "valid_to")
Log = dict[tuple[str, int], list[Record]]
GIVEN = {"application": "a", "store": "s", "bootstrapServers": "x:1", "schemaRegistryUrl": "http://x"}


@pytest.fixture(scope="module")
def driver() -> TestDriver:
    """Return a test driver in which all operators have processed records."""
    driver = TestDriver(JOB, tasks=TASKS)
    for topic, key, value, at in records(400):
        driver.pipe(key, value, topic, at)
    return driver


def declare(name: str) -> DeclaredStore:
    return DECLARED[name]


def read(declared: DeclaredStore, log: Iterable[Record], mode: Mode = Mode.FAIL) -> list[dict[str, Any]]:
    """Return the rows that Spark receives, with times in microseconds."""
    errors = "_error" if mode is Mode.COLUMN else ""
    schema = store_schema(declared.store, declared.key()[0], declared.value().kind, errors)
    rows = list(StoreEntries(declared, declared.codec(KAFKA), mode).read(compact(log), 0))
    batch = record_batch(rows, to_arrow_schema(schema, timezone="UTC")) if rows else pa.RecordBatch.from_pylist([])
    return [
        {name: field.value if isinstance(field, pa.TimestampScalar) else field.as_py() for name, field in row.items()}
        for row in ({name: batch[name][number] for name in batch.schema.names} for number in range(batch.num_rows))
    ]


def rows_of(driver: TestDriver, name: str) -> list[dict[str, Any]]:
    declared = declare(name)
    logs = driver._loop.topics.changelogs
    return [
        row
        for (topic, partition), log in sorted(logs.items())
        if topic == declared.topic and not (declared.store.is_global and partition)
        for row in read(declared, log.records(0))
    ]


def wanted_rows(driver: TestDriver, name: str) -> list[tuple[str, ...]]:
    """Return the sorted content of the driver's store as texts: key, start or time, and value."""
    declared, contents = declare(name), driver.store(name)
    convert = declared.value().convert

    def value_of(value: Any) -> str:
        return str(value if convert is None or value is None else convert(value))

    result: list[tuple[str, ...]] = []
    if isinstance(declared.store, VersionedKeyValueStore):
        for key, versions in contents.items():
            ends = [str(time) for _, time in versions[1:]] + ["None"]
            for (value, time), end in zip(versions, ends, strict=True):
                if value is not None:
                    result.append((str(key), str(time), end, value_of(value)))
    elif isinstance(declared.store, ListValueStore):
        result.extend((str(key), value_of(value)) for key, values in contents.items() for value in values)
    elif isinstance(contents, dict):
        for key, value in contents.items():
            stamped = value if isinstance(value, Stamped) else None
            times = [] if stamped is None else [str(stamped.timestamp)]
            result.append((str(key), *times, value_of(value if stamped is None else stamped.value)))
    else:
        for entry in contents:
            times = [str(getattr(entry, time)) for time in ("start", "end") if hasattr(entry, time)]
            result.append((str(entry.key), *times[:1], value_of(entry.value)))
    return sorted(result)


def dataframe_rows(driver: TestDriver, name: str) -> list[tuple[str, ...]]:
    """Return the sorted rows of the store's DataFrame in the form of `wanted_rows`."""
    store, result = declare(name).store, []
    for row in rows_of(driver, name):
        times = [str(row[time] // 1_000) if row[time] is not None else "None" for time in row if time in TIMES]
        if isinstance(store, WindowStore | SessionStore):
            times = times[:1]
        elif isinstance(store, JoinBuffer | TtlKeyValueStore):
            times = []
        result.append((str(row["key"]), *times, str(row["value"])))
    return sorted(result)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in NAMES if not isinstance(declare(name).store, SuppressBuffer)])
def test_every_store_has_the_entries_of_its_job(driver: TestDriver, name: str) -> None:
    assert dataframe_rows(driver, name) == wanted_rows(driver, name)


@pytest.mark.long
def test_job_covers_every_store_type(driver: TestDriver) -> None:
    filled = {type(declare(name).store) for name in NAMES if rows_of(driver, name)}
    assert {KeyValueStore, TimestampedKeyValueStore, VersionedKeyValueStore, WindowStore, SessionStore} <= filled


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("seen", "key:string,value:string,partition:int"),
        ("stock", "key:string,timestamp:timestamp,value:bigint,partition:int"),
        ("reduced", "key:bigint,timestamp:timestamp,value:bigint,partition:int"),
        (
            "finals",
            "key:string,window_start:timestamp,window_end:timestamp,timestamp:timestamp,value:string,partition:int",
        ),
        ("sessions", "key:string,session_start:timestamp,session_end:timestamp,value:string,partition:int"),
        ("prices", "key:string,valid_from:timestamp,valid_to:timestamp,value:bigint,partition:int"),
    ],
)
def test_columns_are_typed_by_the_kind_of_store(name: str, columns: str) -> None:
    declared = declare(name)
    schema = store_schema(declared.store, declared.key()[0], declared.value().kind, "")
    assert schema.simpleString() == f"struct<{columns}>"


def pack_long(value: int) -> bytes:
    return LONG.codec(no_contracts).encode(value)


def versions(*given: tuple[int, int | None]) -> list[Record]:
    """Return changelog records of the versions of one key: (time, value), where the value may be None."""
    return [(terminate(b"k") + pack_time(at), b"" if value is None else pack_long(value), at) for at, value in given]


def test_version_is_valid_until_the_next_version_or_delete() -> None:
    rows = read(declare("prices"), versions((5, 1), (7, None), (9, 2)))
    assert [(row["valid_from"], row["valid_to"], row["value"]) for row in rows] == [(5_000, 7_000, 1), (9_000, None, 2)]


def test_the_last_record_of_a_key_counts_and_a_delete_removes_it() -> None:
    log: list[Record] = [
        (b"a", b"1", 1),
        (b"b", b"2", 2),
        (b"a", b"3", 3),
        (b"b", None, 4),
        (MARK, b"", 5),
        (b"e", b"", 6),
    ]
    rows = read(declare("seen"), log)
    assert [(row["key"], row["value"]) for row in rows] == [("a", "3"), ("e", "")]


def test_rows_that_cannot_be_decoded_fail_are_skipped_or_have_their_error() -> None:
    declared = declare("stock")
    log: list[Record] = [(b"a", pack_time(1), 1), (b"b", b"short", 2)]
    with pytest.raises(DecodeError, match=r"driven-stock-changelog-0: the row with the key b'b' can't be decoded"):
        read(declared, log)
    assert [row["key"] for row in read(declared, log, Mode.SKIP)] == ["a"]
    good, bad = read(declared, log, Mode.COLUMN)
    assert (good["_error"], bad["key"], bad["value"]) == (None, "b", None)
    assert "5 bytes are not a valid long" in bad["_error"]


@pytest.mark.parametrize("name", ["finals", "sessions", "prices", "reduced"])
def test_rows_with_undecodable_keys_follow_the_mode(name: str) -> None:
    declared = declare(name)
    log: list[Record] = [(b"\xff\xfe", pack_time(1), 1)]
    with pytest.raises(DecodeError, match="can't be decoded"):
        read(declared, log)
    assert read(declared, log, Mode.SKIP) == []
    (row,) = read(declared, log, Mode.COLUMN)
    assert row["key"] is None
    assert row["_error"]


class Keyed(Processor[str, str]):
    """A processor with stores that have text and numeric keys."""

    numbers = KeyValueStore("numbers", int).with_keys(int)

    def process(self, event: str, ctx: Context[str]) -> None: ...


def test_typed_keys_of_a_processor_s_store_are_as_in_queries() -> None:
    log = sub_topology_log("a", 0, Keyed())
    declared = DeclaredStore(SERVICE, log, log.stores[0])
    seven = text_of("numbers", LONG, KEYED, 7).encode()
    rows = read(declared, [(seven, pack_long(1), 1), (b"seven", pack_long(2), 2)])
    assert {row["key"]: row["value"] for row in rows} == {"7": 1, '"seven"': 2}


def test_row_with_an_invalid_key_is_a_decoding_error() -> None:
    log: list[Record] = [(b"no digits", pack_long(1), 1)]
    with pytest.raises(DecodeError, match="not a key of the store reduced"):
        read(declare("reduced"), log)
    assert read(declare("reduced"), log, Mode.SKIP) == []


def test_values_with_a_contract_have_its_columns() -> None:
    declared = declared_store(StoreName("user-sessions", next(iter(SESSIONS.stores)), ""))
    contract = load_contract("user-sessions", declared.store.format.type.__name__)
    assert declared.value().kind == avro_column(contract.text).kind
    assert isinstance(declared.value().kind, StructType)


def test_the_end_of_an_unlimited_window_is_null() -> None:
    assert microseconds(2**62) is None
    assert microseconds(-5) == -5_000


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (StoreName("every-operator", "stok"), "has no store stok; did you mean 'stock'"),
        (StoreName("every-operater", "nothing"), "did you mean 'every-operator'"),
        (StoreName("x", "nothing"), "no service has a store nothing: name the service"),
        (StoreName("x", "seen", "none"), "option service: 'none'"),
    ],
)
def test_unknown_names_are_refused_with_what_to_write(name: StoreName, message: str) -> None:
    with pytest.raises(OptionError) as raised:
        declared_store(name, {"every-operator": SERVICE})
    assert message in str(raised.value)


UNLOGGED = """
from forebay.builder import Materialized, Topology, job
from tests.dsl.every_operator import Nothing

def build(_):
    topology = Topology()
    topology.stream("a", str).group_by_key().count(store=Materialized("counts", logging=False)).to_stream().to("b")
    return topology

JOB = job(Nothing, build)
"""


def test_a_store_without_a_changelog_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "unlogged_job.py").write_text(UNLOGGED)
    monkeypatch.syspath_prepend(tmp_path)
    service = Service(name="u", summary="", inputs=(), outputs=(), stores={"counts": ""}, job="unlogged_job")
    with pytest.raises(OptionError, match="the store counts of u has no changelog, because its logging is off"):
        declared_store(StoreName("u", "counts"), {"u": service})


def test_the_service_of_another_application_id_is_derived_from_the_store() -> None:
    other = Service(
        name="other", summary="", inputs=(), outputs=(), stores={"seen": ""}, job="tests.dsl.every_operator"
    )
    assert declared_store(StoreName("mine", "seen"), {"every-operator": SERVICE}).topic == "mine-seen-changelog"
    with pytest.raises(OptionError, match="the services every-operator, other have a store seen"):
        declared_store(StoreName("mine", "seen"), {"every-operator": SERVICE, "other": other})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"store": ""}, 'set option("store", "user-profiles")'),
        ({"application": ""}, 'set option("application", "user-sessions")'),
        ({"subscribe": "x"}, "the option subscribe does not apply to a store"),
        ({"store": "a b"}, "not a valid name of a store"),
        ({"mode": "ignore"}, "mode is ignore: write one of fail, skip, column"),
    ],
)
def test_options_that_do_not_apply_are_refused(changes: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError) as raised:
        read_store_options({**GIVEN, **changes})
    assert message in str(raised.value)


def test_options_of_a_store() -> None:
    name, options = read_store_options({**GIVEN, "Service": "c", "kafka.client.id": "me"})
    assert (name, options.topics) == (StoreName("a", "s", "c"), ("a-s-changelog",))
    assert names_store(GIVEN)
    assert not names_store({"subscribe": "a"})


def test_store_can_not_be_read_as_a_stream() -> None:
    source = ForebayDataSource(GIVEN)
    with pytest.raises(OptionError, match=r"a store can be read by spark\.read only.*a-s-changelog"):
        source.streamReader(StructType())
