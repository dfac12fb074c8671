"""The computation of one commit of a task: its records, then timers and punctuation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from forebay.processor.attempts import compute
from forebay.processor.batch import BatchResult
from forebay.processor.engine import TaskEngine
from forebay.processor.engine_settings import Bounds, StateEncoding
from forebay.processor.messages import Message
from forebay.runtime.task.inputs import TaskInput


@dataclass(slots=True)
class Turn:
    """The input of the computation of one commit of a task.

    Args:
        close_until: closing time (ms) up to which timers fire; -1: the task does not close.
        begun: time, by the monotonic clock of `bounds`, at which the first attempt began.
        was_cut: whether the time was over before all records were processed.
    """

    streams: list[list[Message]]
    clock: int
    idle_ms: int
    close_until: int
    bounds: Bounds
    punctuates: bool
    begun: float
    was_cut: bool = False

    def compute(self, name: str, n: int, engine: TaskEngine, inputs: TaskInput) -> BatchResult:
        """Return the result of commit `n` of the task `name`."""
        return compute(
            f"{name}: after {n - 1} commits",
            engine,
            lambda encoding: self._attempt(n, engine, inputs, encoding),
            blames_memory=self.bounds.blames_memory,
        )

    def _attempt(self, n: int, engine: TaskEngine, inputs: TaskInput, encoding: StateEncoding) -> BatchResult:
        clock, bounds = self.clock, self.bounds
        if encoding is StateEncoding.EACH:
            # The first attempt may have used all the time. Without an extension, this one would process one record.
            bounds = replace(bounds, until=bounds.until + bounds.monotonic() - self.begun)
        processed = engine.run(self.streams, clock, encoding, bounds)
        if processed is not None:
            self.streams, self.was_cut = inputs.give_back(self.streams, processed), True
        # After the records, because a punctuation sees the records that were processed before it, as in Kafka Streams.
        if self.punctuates:
            engine.punctuate(clock)
        # Unprocessed records are earlier than the windows that idle time would close, and would then be late.
        if not self.was_cut:
            if self.close_until >= 0:
                self.was_cut = not engine.close(self.close_until, clock)
            elif self.idle_ms > 0:
                engine.tick(self.idle_ms, clock)
        return engine.finish(n)
