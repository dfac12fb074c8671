"""Checks topics and brokers before a job starts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from forebay.catalog import Service
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.brokers import Cluster, describe_brokers
from forebay.kafka.errors import KafkaRefused
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import TopicDescription
from forebay.runtime.broker.broker_problems import Finding, Needs, broker_findings
from forebay.runtime.driver.topic_problems import topic_findings
from forebay.runtime.errors import StopJob

_ANSWER_SECONDS = 8.0
_UNKNOWN = Cluster({})

T = TypeVar("T")
log = logging.getLogger(__name__)


class BrokerUnfit(StopJob):
    """The configuration of topics or brokers would let the job lose state or stop. One line for each problem.

    Args:
        problems: the problems, each with its remedy.
    """

    def __init__(self, application: str, problems: Sequence[str]) -> None:
        place = f"{application} would lose state or stop processing here: "
        super().__init__(place + "; ".join(problems))
        self.problems = tuple(place + problem for problem in problems)


def check_broker(kafka: KafkaSettings, service: Service, application: str, needs: Needs) -> None:
    """Log the problems of the job's topics and brokers, and refuse to start if any is fatal.

    If this principal may not read some settings, this is logged once, and the start continues.

    Raises:
        BrokerUnfit: names the settings to change. KafkaUnavailable.
    """
    names = [topic.name for topic in service.topics(application)]
    admin = TopicAdmin(kafka, _ANSWER_SECONDS)
    nothing: Mapping[str, TopicDescription] = {}
    settings = "the settings of the job's topics fit (this needs DescribeConfigs on them)"
    topics = _seen(lambda: admin.describe(names), nothing, settings)
    brokers = "the settings of the brokers fit (this needs DescribeConfigs on the cluster)"
    cluster = _seen(lambda: describe_brokers(kafka, _ANSWER_SECONDS), _UNKNOWN, brokers)
    judge(
        application,
        [
            *broker_findings(cluster, needs),
            *topic_findings(service, application, topics, needs, len(cluster.configs)),
        ],
    )


def judge(application: str, findings: list[Finding]) -> None:
    """Log findings that are not fatal. Raises BrokerUnfit for fatal ones."""
    for finding in findings:
        if not finding.fatal:
            log.warning("%s: %s", application, finding.text)
    # All findings at once, so that an operator does not need a start for each of them.
    fatal = [finding.text for finding in findings if finding.fatal]
    if fatal:
        raise BrokerUnfit(application, fatal)


def _seen(ask: Callable[[], T], unknown: T, what: str) -> T:
    try:
        return ask()
    except KafkaRefused as error:
        # The right is missing, or the broker is not Kafka itself and does not describe its settings.
        log.warning("can't check whether %s: %s", what, error)
    return unknown
