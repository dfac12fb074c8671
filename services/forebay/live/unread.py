"""Checks that the job can read the records that earlier versions of its statements have sent and that are unread."""

from __future__ import annotations

from collections.abc import Mapping

from forebay.job import Job
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings
from forebay.live.draft import Draft
from forebay.runtime.changelog.topics import internal_topic
from forebay.runtime.driver.causes import stop_message
from forebay.runtime.driver.committed_records import CommittedRecords
from forebay.runtime.driver.prepare import find_former
from forebay.runtime.driver.record_formats import compare_formats
from forebay.runtime.errors import StopJob
from forebay.runtime.task.record_formats import record_formats
from forebay.sql.errors import Place, SqlError

_REMEDIES = "Give the result another name, or write the statement as it was until the job has read them"


def edits_formats(draft: Draft, before: Draft) -> bool:
    """Return whether repartition topics of the previous program have records of another format in a program."""
    edited, former = _digests(draft.job), _digests(before.job)
    return any(edited.get(name, digest) != digest for name, digest in former.items())


def adds_formats(draft: Draft, before: Draft) -> bool:
    """Return whether the previous program had not all formats of the repartition records of a program."""
    return bool(_digests(draft.job).items() - _digests(before.job).items())


def refuse_unread(kafka: KafkaSettings, application: str, draft: Draft, place: Place) -> None:
    """Refuse a program that would misread unread records, because the start of the job of all queries would be refused.

    Args:
        place: place of the edited statement.

    Raises:
        SqlError. Unavailable: the broker does not answer.
    """
    internal = internal_topic(application, 0)
    tasks = TopicAdmin(kafka).partitions([internal]).get(internal, 0)
    if draft.job is None or draft.service is None or not tasks:
        return
    former = find_former(kafka, draft.service, application, tasks)
    records = CommittedRecords(kafka, draft.service, application, tasks, former)
    try:
        compare_formats(records, record_formats(application, draft.job), records.positions(), tasks, _REMEDIES)
    except StopJob as error:
        raise SqlError(place, stop_message(str(error)) or str(error)) from error


def _digests(job: Job | None) -> Mapping[str, str]:
    """Return the digest of each repartition topic's format, by topic."""
    return {} if job is None else {topic: kind.digest for topic, kind in record_formats("", job).items()}
