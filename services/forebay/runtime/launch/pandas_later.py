"""Prevents pyarrow and Spark from importing pandas in processes that do not use it."""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_PANDAS = "pandas"
_ASKED = "require_minimum_pandas_version"
_ASKING = threading.Lock()


@contextmanager
def pandas_unasked() -> Iterator[None]:
    """Let Spark create functions in the block without importing pandas to check its version.

    `mapInArrow` checks it, although its batches are pyarrow's. Images of services have no pandas.
    """
    from pyspark.sql.pandas import functions  # noqa: PLC0415 (the forks' server imports it in its own order)

    with _ASKING:
        asked = getattr(functions, _ASKED)
        setattr(functions, _ASKED, lambda: None)
        try:
            yield
        finally:
            setattr(functions, _ASKED, asked)


def leave_pandas() -> None:
    """Let pyarrow run without pandas until a module imports it. From then on, pyarrow uses it as usual.

    When pyarrow converts its first value, it imports pandas if it is installed. This takes 0.4 s of CPU and 40 MB in
    each of Spark's Python processes, which convert leases.
    """
    if _PANDAS in sys.modules:
        return
    import pyarrow  # noqa: PLC0415 (of the forks' server alone)

    absent = _Absent()
    sys.meta_path.insert(0, absent)
    try:
        pyarrow.array([0])
    finally:
        sys.meta_path[0] = _Awaited()


class _Absent(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if name == _PANDAS:
            raise ModuleNotFoundError(name, name=name)


class _Awaited(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != _PANDAS:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Told(spec.loader)
        return spec


class _Told(Loader):
    """Loads pandas and lets pyarrow use it."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        import pyarrow  # noqa: PLC0415 (see above)

        with suppress(ImportError, AttributeError):
            _ = pyarrow.lib._pandas_api.pd
