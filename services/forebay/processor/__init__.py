"""The Processor API."""

from forebay.processor.api import NO_KEY, AnyProcessor, Context, IdleClose, LateRecord, Processor, RejectedRecord, Timer

__all__ = ["NO_KEY", "AnyProcessor", "Context", "IdleClose", "LateRecord", "Processor", "RejectedRecord", "Timer"]
