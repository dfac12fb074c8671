"""ASSERT TOPIC in a service's statements, checked before its topics are created and its job starts."""

from __future__ import annotations

import time

from forebay.catalog import Service
from forebay.job import load_job
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings

_EVERY_S = 0.2


def check_assertions(kafka: KafkaSettings, service: Service) -> None:
    """Wait until the service's ASSERT TOPIC statements are true. Raises SqlError at a statement's timeout."""
    job = load_job(service.job)
    program = None if job.program is None else job.program()
    if program is None or not program.assertions:
        return
    from forebay.sql.assertions import difference_of  # noqa: PLC0415 (few services have such statements)
    from forebay.sql.errors import SqlError  # noqa: PLC0415

    admin = TopicAdmin(kafka)
    for statement in program.assertions:
        until = time.monotonic() + statement.timeout_ms / 1000
        while True:
            description = admin.describe([statement.topic]).get(statement.topic)
            copies = 0 if description is None else description.replication_factor
            difference = difference_of(statement, 0 if description is None else description.partitions, copies)
            if not difference:
                break
            if time.monotonic() >= until:
                raise SqlError(statement.place, difference)
            time.sleep(_EVERY_S)
