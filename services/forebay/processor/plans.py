"""Creation of the reading plan and the context of a task from its codecs."""

from __future__ import annotations

from forebay.limits.room import Rooms
from forebay.processor.api import AnyProcessor
from forebay.processor.arrivals import Plan
from forebay.processor.codecs import Codecs, key_readers, key_writers
from forebay.processor.context import TaskContext
from forebay.processor.engine_settings import EngineSettings


def context_of(codecs: Codecs, settings: EngineSettings, rooms: Rooms) -> TaskContext:
    """Return the context of a task."""
    targets = {
        name: (codec, rooms.onward(name) if name in codecs.repartitions else rooms.output(name))
        for name, codec in codecs.targets.items()
    }
    return TaskContext(
        targets,
        next(iter(targets), ""),
        settings.max_record_bytes,
        settings.max_output_bytes,
        rooms.internal,
        key_writers(codecs.keys),
        codecs.names,
        codecs.handed_topics,
    )


def plan_of(codecs: Codecs, processor: AnyProcessor) -> Plan:
    """Return how a task's topics are read."""
    return Plan(
        codecs.inputs,
        key_readers({**codecs.keys, **codecs.read_keys}),
        codecs.tables,
        codecs.nullable,
        codecs.timeless,
        processor,
        codecs.handed,
        codecs.names,
    )
