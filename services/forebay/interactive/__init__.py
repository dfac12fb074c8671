"""Jobs that a script or notebook starts with `forebay.run`, and the handle that it returns."""

from forebay.interactive.running import JobEnded, RunningJob
from forebay.interactive.stores import StoreView

__all__ = ["JobEnded", "RunningJob", "StoreView"]
