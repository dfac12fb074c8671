"""The Processor API."""

from forebay.processor.api import AnyProcessor, Context, LateRecord, Processor, RejectedRecord, Timer

__all__ = ["AnyProcessor", "Context", "LateRecord", "Processor", "RejectedRecord", "Timer"]
