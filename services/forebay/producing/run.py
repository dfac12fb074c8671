"""Produces a topic: generator, contract and broker put together."""

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
    """Send what `options` ask for, and wait until the broker has it all.

    Args:
        topic: one that has a source (forebay.producing.sources).
        options: what to generate; without a start, a paced run starts now.
        client: librdkafka's options: bootstrap.servers, TLS, SASL ...; they override PRODUCER_CONFIG.
        codec: the topic's codec (our contract, registered); None: it has no contract, values are JSON.
        register: takes subject and schema text, gives the schema's id. Malformed records written under a wrong
            schema need one, registered at the start under `<topic>.malformed.<kind>-value`, never under the topic's own
            subject.
        on_progress: called with the number of records sent so far, from 5 to a few hundred times a second.
        should_stop: asked as often.
        to: the topic they are sent to; "": `topic`.
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
    # Take the start time after the registry has answered and the generator is ready. Events that are sent later than
    # they happened would look like a slow job.
    generator = source.generator(options.started_at(_now_ms()))
    started = options.started_at(_now_ms())
    return sender.send(records(generator, started), started.rate, started.duration_s)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
