"""Produces the synthetic events of a topic, with its generator and contract."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import Producer

from forebay.codec import Codec
from forebay.producing.base import Event, Options
from forebay.producing.frames import Frame, Frames, json_frame
from forebay.producing.send import PRODUCER_CONFIG, Sender, Sent
from forebay.producing.sources import records, source_of
from forebay.serde import load_contract


def produce(
    topic: str,
    options: Options,
    client: Mapping[str, Any],
    codec: Codec[Any] | None,
    register: Callable[[str, str], int],
    *,
    on_progress: Callable[[int], None] = lambda _: None,
    should_stop: Callable[[], bool] = lambda: False,
    to: str = "",
) -> Sent:
    """Send the events that `options` specify, and wait until the broker has accepted all.

    Args:
        topic: a topic with a source (forebay.producing.sources).
        options: options of the generator. Without a start, a paced run starts now.
        client: librdkafka's options: bootstrap.servers, TLS, SASL ...; they override PRODUCER_CONFIG.
        codec: the topic's codec with the registered contract; None: there is no contract, and values are JSON.
        register: registers a schema from subject and text, and returns its id. The schemas of malformed records are
            registered at the start under `<topic>.malformed.<kind>-value`, never under the topic's own subject.
        on_progress: called with the number of records sent so far, from 5 to a few hundred times per second.
        should_stop: returns whether to stop; called as often.
        to: the topic to send to; "": `topic`.
    """
    source = source_of(topic)
    frame: Callable[[Event[Any]], Frame] = json_frame
    if codec is not None:
        frames = Frames(
            codec.encode,
            load_contract(source.service, source.contract).text,
            source.required_field,
            lambda kind, text: register(f"{to or topic}.malformed.{kind}-value", text),
        )
        if options.malformed:
            frames.prepare()
        frame = frames.frame
    sender = Sender(
        Producer({**PRODUCER_CONFIG, **client}),
        to or topic,
        frame,
        on_progress=on_progress,
        should_stop=should_stop,
    )
    # Read the start time after the registry has answered and the generator is ready. Events that are sent after their
    # event time would look like a slow job.
    generator = source.generator(options.started_at(_now_ms()))
    started = options.started_at(_now_ms())
    return sender.send(records(generator, started), started.rate, started.duration_s)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
