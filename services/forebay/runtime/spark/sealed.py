"""The job's spec as passed through Spark's own Python processes, which need not import anything for it."""

from __future__ import annotations

import dataclasses
import io
import pickle
from typing import TYPE_CHECKING, Any

from forebay import __version__
from forebay.runtime.process.survivors import leave_driver
from forebay.runtime.spark.other_code import OtherCodeError

if TYPE_CHECKING:
    from forebay.runtime.spec import JobSpec

_UNREADABLE = (AttributeError, ImportError, LookupError, TypeError, ValueError, pickle.UnpicklingError)


class SealedSpec:
    """A job's spec as bytes, because three processes pass it on at a start, and unpickling takes each half a second.

    During an upgrade, executors of another release read it. Dataclasses are written as their fields by name. A reader
    uses the fields that it knows, and its own defaults for missing ones.
    """

    def __init__(self, spec: JobSpec) -> None:
        written = io.BytesIO()
        _ByFields(written).dump(spec)
        self._data = written.getvalue()
        self._release = __version__

    def open(self) -> JobSpec:
        """Return the spec. Raises OtherCodeError: this executor leaves its driver."""
        try:
            spec: JobSpec = pickle.loads(self._data)
        # Only errors that other code can cause: a lack of memory, for example, must not make an executor leave its
        # driver.
        except _UNREADABLE as error:
            what = f"forebay {__version__} can't read what its driver of {self._release} sends"
            failure = OtherCodeError(what, error)
            leave_driver(failure)
            raise failure from None
        return spec


class _ByFields(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if not dataclasses.is_dataclass(value) or isinstance(value, type):
            return NotImplemented
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
        return _restore_record, (type(value), fields)


def _restore_record(kind: Any, fields: dict[str, Any]) -> Any:
    """Return a dataclass object of the fields that this release knows. Raises TypeError if a required one is absent."""
    # A field of a newer driver is dropped. Executors are replaced one by one, and until then they work without it.
    known = {field.name for field in dataclasses.fields(kind) if field.init}
    return kind(**{name: value for name, value in fields.items() if name in known})
