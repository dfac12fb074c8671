"""If the commit that advances closing times fails, it is repeated, because a rescale needs equal closing times."""

from __future__ import annotations

import pytest

from forebay.runtime.errors import Unavailable
from forebay.runtime.protocol.lease import Lease
from tests.runtime.group_bench import GroupBench
from tests.runtime.task_records import TOPIC

UNTIL = 5_000


class EndingBench(GroupBench):
    """A group whose lease ends at the topic's end and then closes all windows."""

    @property
    def lease(self) -> Lease:
        end = self.broker.partitions[TOPIC, 0].end
        return Lease(self.checkpoint, self.number, 0, 1, 1, 0, {TOPIC: (0,)}, until={TOPIC: (end,)}, close_until=UNTIL)


@pytest.mark.parametrize("point", ["commit.begin", "commit.before", "commit.after"])
def test_uncommitted_closes_are_repeated(point: str) -> None:
    bench = EndingBench()
    bench.feed(("ann", 1_000, 1))
    with pytest.raises(Unavailable):
        bench.fail(point)
    bench.run()
    assert bench.group.is_done(bench.lease)
    assert bench.positions()[-1].closing_time == UNTIL
