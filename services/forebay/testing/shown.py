"""The records that a test pipes and receives."""

from forebay.in_memory.records import Failure, Forwarded, PipedRecord, Sink

__all__ = ["Failure", "Forwarded", "PipedRecord", "RecordFailed", "Sink"]


class RecordFailed(RuntimeError):
    """A record of a test went to `.errors`. The message says which record and why."""
