"""A separate JVM for a test, because Spark's workers inherit the environment in which the JVM was started."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import pytest
from pyspark import SparkContext

_NOTHING: Mapping[str, str] = MappingProxyType({})


@contextmanager
def own_jvm(environment: Mapping[str, str] = _NOTHING) -> Iterator[None]:
    """Run the sessions that the block creates in a new JVM, with these variables and this Python for its workers."""
    with pytest.MonkeyPatch.context() as patch:
        for name, text in {"PYSPARK_PYTHON": sys.executable, **environment}.items():
            patch.setenv(name, text)
        _end_jvm()
        try:
            yield
        finally:
            _end_jvm()


def _end_jvm() -> None:
    gateway: Any = SparkContext._gateway
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(60)
        SparkContext._gateway = SparkContext._jvm = None
