"""Prefixes of a task's internal rows that are no store's."""

from __future__ import annotations

KINDS = b"\x01kind\0"
TIMERS = b"\x01timer\0"
PARKED = b"\x01parked\0"
"""Prefix of rows of a removed sub-topology or topic. They stay in the internal changelog until it is put back."""

PARKED_TIMES = b"\x01times"
"""Key of the parked row that has the position under which a topic was last read, while no sub-topology reads it.

The offsets of the topic stay at their place, but the times and senders of the place's later positions are another
sub-topology's. With these times, records that waited would be late. Without the topic's senders, records of a
repartition that were read ahead would be used twice.
"""
