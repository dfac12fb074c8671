"""Which files of a task's snapshots may be deleted, and when.

A worker that was paused may resume after another worker took over its group. Two rules keep it from deleting what its
successor needs:

1. A file is planned for deletion in one round and deleted in the next one, after that round's commit. The commit
   proves that the worker owned the group when it listed the file, so the file is not a successor's.
2. A file that the last two manifests need is not planned. Together with the delay, the files of the last three stay
   until a commit has proved that no other worker took over. A successor that does not see the newest manifest,
   because the store lists it late, builds on the one before.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cleanup:
    """Files to delete now, and files to delete in the next round."""

    delete: tuple[str, ...]
    plan: frozenset[str]


def plan_cleanup(listing: Collection[str], needed: Collection[str], planned: Collection[str]) -> Cleanup:
    """Return the files to delete after a commit.

    Args:
        listing: the task's files, listed before that commit or after it.
        needed: files of the last two snapshots.
        planned: the plan of the previous round.
    """
    # A file that an earlier round planned is deleted only if it is still unused, because the snapshot of this round may
    # need it.
    unused = set(listing).difference(needed)
    cleanup = Cleanup(tuple(sorted(unused.intersection(planned))), frozenset(unused.difference(planned)))
    assert cleanup.plan.isdisjoint(needed), "a file that a snapshot needs would be deleted in the next round"
    return cleanup
