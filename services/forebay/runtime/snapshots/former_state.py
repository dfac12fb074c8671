"""Removes Spark's state from a checkpoint of release 0.2, because Spark refuses it for a query without state."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path

from forebay.runtime.protocol.lease import LeaseOffset

log = logging.getLogger(__name__)

_OPERATOR, _OFFSETS = "state/0", "offsets"
_LAYOUT = f"{_OPERATOR}/_metadata"
"""Spark writes this folder for an operator's state. A folder `state` without it belongs to something else."""


def drop_former_state(checkpoint: str, settings: Mapping[str, str]) -> None:
    """Remove Spark's state from a checkpoint; the changelogs hold its rows.

    Args:
        settings: Spark's settings of the object store, if the checkpoint is a URL.

    Raises:
        StateConflict: a release before 0.2 wrote the checkpoint; it stays as it is. StopJob, StoreUnavailable.
    """
    if "://" not in checkpoint and not (Path(checkpoint) / _LAYOUT).is_dir():
        return
    from forebay.runtime.snapshots.files import open_files  # noqa: PLC0415 (a local job's driver rarely needs it)

    files = open_files(checkpoint, settings)
    if not files.has_folder(_LAYOUT):
        return
    batches = [int(name) for name in files.list(_OFFSETS) if name.isdecimal()]
    if batches:
        # This raises for a checkpoint of a release before 0.2, whose rows must not be deleted with the folder.
        written = files.read(f"{_OFFSETS}/{max(batches)}").decode()
        LeaseOffset.from_json(json.loads(written.splitlines()[-1]))
    files.delete_folder(_OPERATOR)
    log.warning("the checkpoint's snapshots are of release 0.2: the changelogs are read from their beginning")
