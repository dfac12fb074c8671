"""Jobs started from a script or a notebook: `forebay.run`, and the handle that it returns."""

from forebay.interactive.running import JobEnded, RunningJob
from forebay.interactive.stores import StoreView

__all__ = ["JobEnded", "RunningJob", "StoreView"]
