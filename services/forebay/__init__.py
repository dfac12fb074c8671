"""Forebay: state stores for Kafka streams, in Python, on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike
    from typing import Unpack

    from forebay.builder import (
        GlobalTable,
        GroupedStream,
        GroupedTable,
        Materialized,
        Stream,
        Table,
        Topology,
        TopologyError,
        ValueTransformer,
        Windowed,
        WindowedStream,
    )
    from forebay.catalog import Service, Topic
    from forebay.formats import BOOLEAN, BYTES, DOUBLE, FLOAT, INT, LONG, TEXT, UUID, Format, avro
    from forebay.interactive import RunningJob
    from forebay.interactive.options import RunOptions
    from forebay.job import Job, Stage
    from forebay.operators import Emission, Fold, UntilTimeLimit, UntilWindowCloses, WhenFull
    from forebay.processor import NO_KEY, Context, Processor, Timer
    from forebay.records import Record
    from forebay.serde.json_format import json_of
    from forebay.stores import (
        KeyValueStore,
        ListValueStore,
        LruStore,
        SessionStore,
        TimestampedKeyValueStore,
        TtlKeyValueStore,
        VersionedKeyValueStore,
        WindowStore,
    )
    from forebay.testing import TestDriver
    from forebay.time import (
        JoinWindows,
        SessionWindows,
        SlidingWindows,
        TimeWindows,
        UnlimitedWindows,
        Window,
        Windows,
        hopping,
        tumbling,
        within,
    )

__version__ = "0.3.0"


__all__ = [
    "BOOLEAN",
    "BYTES",
    "DOUBLE",
    "FLOAT",
    "INT",
    "LONG",
    "NO_KEY",
    "TEXT",
    "UUID",
    "Context",
    "Emission",
    "Fold",
    "Format",
    "GlobalTable",
    "GroupedStream",
    "GroupedTable",
    "Job",
    "JoinWindows",
    "KeyValueStore",
    "ListValueStore",
    "LruStore",
    "Materialized",
    "Processor",
    "Record",
    "Service",
    "SessionStore",
    "SessionWindows",
    "SlidingWindows",
    "Stage",
    "Stream",
    "Table",
    "TestDriver",
    "TimeWindows",
    "Timer",
    "TimestampedKeyValueStore",
    "Topic",
    "Topology",
    "TopologyError",
    "TtlKeyValueStore",
    "UnlimitedWindows",
    "UntilTimeLimit",
    "UntilWindowCloses",
    "ValueTransformer",
    "VersionedKeyValueStore",
    "WhenFull",
    "Window",
    "WindowStore",
    "Windowed",
    "WindowedStream",
    "Windows",
    "__version__",
    "avro",
    "hopping",
    "json_of",
    "run",
    "tumbling",
    "within",
]

_PUBLIC = {
    "forebay.builder": (
        "GlobalTable",
        "GroupedStream",
        "GroupedTable",
        "Materialized",
        "Stream",
        "Table",
        "Topology",
        "TopologyError",
        "ValueTransformer",
        "Windowed",
        "WindowedStream",
    ),
    "forebay.catalog": ("Service", "Topic"),
    "forebay.formats": ("BOOLEAN", "BYTES", "DOUBLE", "FLOAT", "Format", "INT", "LONG", "TEXT", "UUID", "avro"),
    "forebay.job": ("Job", "Stage"),
    "forebay.operators": ("Emission", "Fold", "UntilTimeLimit", "UntilWindowCloses", "WhenFull"),
    "forebay.processor": ("Context", "NO_KEY", "Processor", "Timer"),
    "forebay.records": ("Record",),
    "forebay.serde.json_format": ("json_of",),
    "forebay.stores": (
        "KeyValueStore",
        "ListValueStore",
        "LruStore",
        "SessionStore",
        "TimestampedKeyValueStore",
        "TtlKeyValueStore",
        "VersionedKeyValueStore",
        "WindowStore",
    ),
    "forebay.testing": ("TestDriver",),
    "forebay.time": (
        "JoinWindows",
        "SessionWindows",
        "SlidingWindows",
        "TimeWindows",
        "UnlimitedWindows",
        "Window",
        "Windows",
        "hopping",
        "tumbling",
        "within",
    ),
}
"""Names that are imported from here, by the module that defines them. Each module is imported when it is needed."""
_MODULES = {name: module for module, names in _PUBLIC.items() for name in names}


if not TYPE_CHECKING:  # a type checker would accept every name

    def __getattr__(name: str) -> object:
        from importlib import import_module  # noqa: PLC0415 (`import forebay` alone loads nothing)

        if name not in _MODULES:
            raise AttributeError(f"module 'forebay' has no attribute {name!r}")
        return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})


def run(
    what: str | Service | Topology,
    *,
    name: str = "",
    home: str | PathLike[str] = ".forebay",
    settings: Mapping[str, object] | None = None,
    contracts: str | PathLike[str] | None = None,
    **options: Unpack[RunOptions],
) -> RunningJob:
    """Start a job from a script or a notebook, as `forebay run` does, and return a handle to it.

    The job runs in its own processes, so that interrupting a notebook's cell does not stop it.

    Args:
        what: A topology, or a service given by its name or entry.
        name: Name of the job, if `what` is a topology. It prefixes the names of its topics and groups.
        home: Folder for data, state and logs.
        settings: Settings of the service's logic (`--set`).
        contracts: Folder with `<Record>.avsc` files, if `what` is a topology whose topics or stores hold records.
        options: Options of `forebay run` as keyword arguments, for example slots=2, trigger="available-now".

    Raises:
        UnknownService: There is no service with this name.
        TopologyError: The topology can't run.
        CannotShip: The topology refers to something that another process can't load.
        TypeError: An option is unknown.
        ValueError: An option has an invalid value.
    """
    from pathlib import Path  # noqa: PLC0415 (keeps a look at the version fast)

    from forebay.interactive.start import start  # noqa: PLC0415

    folder = None if contracts is None else Path(contracts)
    return start(what, name=name, home=Path(home), settings=settings or {}, contracts=folder, options=options)
