"""An entry that is derived from its job has the job's declarations. Additions must concern the job's own topics."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from forebay.builder import Topology, job
from forebay.catalog import COMPACTED, TIMESTAMPS
from forebay.declaration import declare
from forebay.job import Job
from forebay.service.agreement import disagreements
from forebay.service.mistakes import Mistake


@dataclass(frozen=True, slots=True)
class Settings:
    """None."""


def counting(_settings: Settings) -> Topology:
    topology = Topology()
    words = topology.stream("words", str)
    words.group_by(lambda _, word: word, str).count(store="counts").to_stream().to("counted")
    words.to("seen")
    return topology


@pytest.fixture
def counts() -> Job:
    return job(Settings, counting)


def test_topics_stores_and_stages_are_the_job_s(counts: Job) -> None:
    entry = declare(
        name="counts", summary="s", job="counts.job", made=counts, compacted=["counted"], partitions={"words": 8}
    )
    assert disagreements(entry, counts) == []
    assert (entry.stages, dict(entry.stores)) == (2, {"counts": ""})
    assert [(topic.name, topic.partitions) for topic in entry.inputs] == [("words", 8)]
    assert {
        topic.name: topic.config["cleanup.policy"] for topic in entry.outputs if "cleanup.policy" in topic.config
    } == {"counted": COMPACTED["cleanup.policy"]}
    assert all(topic.config.items() >= TIMESTAMPS.items() for topic in entry.outputs)


def test_settings_of_topics_that_the_job_lacks_are_refused(counts: Job) -> None:
    with pytest.raises(ValueError, match=r"compacted: words: the job has no such topic: choose from counted, seen"):
        declare(name="counts", summary="s", job="counts.job", made=counts, compacted=["words"])
    with pytest.raises(
        ValueError, match=r"partitions: sen: the job has no such topic: choose from words, counted, seen"
    ):
        declare(name="counts", summary="s", job="counts.job", made=counts, partitions={"sen": 1})


def test_a_module_without_a_job_is_reported() -> None:
    with pytest.raises(Mistake, match=r"user_sessions\.model has no JOB: write `JOB = Job"):
        declare(name="counts", summary="s", job="user_sessions.model")
