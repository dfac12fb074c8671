"""What Spark's own Python processes are given of a job: nothing that they would have to import."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forebay.runtime.spec import JobSpec


class SealedSpec:
    """A job's spec as bytes. A start has three processes that pass it on; unpickled, it costs each half a second."""

    def __init__(self, spec: JobSpec) -> None:
        self._data = pickle.dumps(spec)

    def open(self) -> JobSpec:
        """Return the spec."""
        spec: JobSpec = pickle.loads(self._data)
        return spec
