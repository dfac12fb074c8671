"""The Processor API."""

from forebay.processor.api import AnyProcessor, Context, IdleClose, LateRecord, Processor, RejectedRecord, Timer

__all__ = ["AnyProcessor", "Context", "IdleClose", "LateRecord", "Processor", "RejectedRecord", "Timer"]
