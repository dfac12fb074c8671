"""The records of a service's INSERT INTO ... VALUES, sent before its job starts for the first time."""

from __future__ import annotations

from forebay.catalog import Service
from forebay.job import load_job
from forebay.kafka.registry import shared_registry
from forebay.kafka.settings import KafkaSettings
from forebay.serde.subjects import connected_meanwhile


def send_inserted(kafka: KafkaSettings, service: Service) -> dict[str, int]:
    """Send the records whose topics never had a record. Return the number of records sent, by topic.

    Later starts send nothing, because the topics then have records.

    Raises:
        SqlError, EncodeError: a record can't be written. Unavailable: the broker or the registry can't be reached.
    """
    job = load_job(service.job)
    program = None if job.program is None else job.program()
    if program is None or not program.inserts:
        return {}
    from forebay.queries.sending import empty_topics, send_records  # noqa: PLC0415 (few services have such statements)
    from forebay.sql.inserting import record_of  # noqa: PLC0415

    # Disconnect from the registry afterwards: code that runs later in this process, such as a test driver, must not
    # register its schemas there.
    with connected_meanwhile(lambda: shared_registry(kafka.registry())):
        records = [record_of(insert, program.catalog) for insert in program.inserts]
    empty = empty_topics(kafka, sorted({record.topic for record in records}))
    new_records = [record for record in records if record.topic in empty]
    if new_records:
        send_records(kafka, new_records)
    return {topic: sum(record.topic == topic for record in new_records) for topic in sorted(empty)}
