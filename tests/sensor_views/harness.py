"""The service under test, as a machine with sensors on its parts."""

from __future__ import annotations

from typing import Any

from forebay.testing import Forwarded, TestDriver
from sensor_views.model import Reading
from tests.plain import plain
from tests.sensor_views.replay import Output, Total, stored_totals

START = 1_735_689_600_000


class Machine:
    """A test driver for the service with both sub-topologies. Times are ms after START."""

    def __init__(self, tasks: int = 1, **engine: Any) -> None:
        self.driver = TestDriver("sensor-views", tasks=tasks, **engine)

    def read(
        self,
        reading: float,
        sensor: str = "s-1",
        area: str = "wheel",
        at: int = 0,
        event_id: str | None = None,
    ) -> list[Forwarded[Any]]:
        """Send one reading, and return the rows that this changes."""
        return self.driver.pipe(sensor, Reading(event_id, sensor, area, reading, START + at))

    def averages(self, view: str) -> dict[str, float]:
        """Return the average of each group in a view's store."""
        return {group: average for group, (average, _, _) in self.totals(view).items()}

    def totals(self, view: str) -> dict[str, Total]:
        """Return a view's store in the replay's form."""
        rows = self.driver.store(view.replace("_", "-"))
        return stored_totals({key: plain(row.value) for key, row in rows.items()})

    def results(self) -> list[Output]:
        """Return all rows so far in the replay's form."""
        return [(out.topic or "", out.key, plain(out.value), out.timestamp) for out in self.driver.outputs]
