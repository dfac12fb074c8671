"""The keyword arguments of `forebay.run`, so that editors and type checkers know them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Literal, TypedDict

Pairs = Mapping[str, object] | Sequence[str]
"""Options that can be passed several times: {"name": value}, or ["name=value"]."""
FileName = str | PathLike[str]


class RunOptions(TypedDict, total=False):
    """Keyword options of `forebay.run`. They are the options of `forebay run`; `forebay run --help` explains them."""

    bootstrap_servers: str | None
    schema_registry_url: str | None
    kafka_option: Pairs
    restore: bool
    check: bool
    create_topics: bool | None
    application: str | None
    checkpoint: FileName | None
    tasks: int
    groups: int
    starting_offsets: str | int
    topic: Pairs
    emit: Literal["every", "latest"]
    dedupe_retention_ms: int
    commit_interval_ms: int
    checkpoint_interval_ms: int
    max_records_per_commit: int
    max_bytes_per_commit: int | None
    max_downtime_ms: int
    accept_gap: Sequence[str]
    max_state_bytes: int
    max_error_rate: float
    tables: Literal["in_memory", "persistent"]
    table_directory: FileName
    table_memory_bytes: int
    standby_directory: FileName
    transaction_timeout_ms: int
    slots: int
    memory: str
    executors: str
    driver_host: str
    spark_secret: FileName | None
    conf: Pairs
    http_host: str
    http_port: int
    log_format: Literal["text", "json"]
    trigger: Literal["continuous", "available-now"]
