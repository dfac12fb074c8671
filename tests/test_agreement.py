"""The entry of a service must agree with its job. Every difference is reported by name before a record is lost."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from forebay.catalog import Service, Topic, all_services
from forebay.job import Job, load_job
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.driver.app import JobApplication
from forebay.runtime.driver.job_options import JobOptions
from forebay.runtime.driver.plan import Plan
from forebay.service.agreement import Disagreement, check_agreement, disagreements
from forebay.service.mistakes import Mistake
from forebay.testing import TestDriver

SERVICES = all_services()

ORDERS = SERVICES["order-stores"]
SESSIONS = SERVICES["user-sessions"]


def with_entry(monkeypatch: pytest.MonkeyPatch, entry: Service) -> None:
    monkeypatch.setattr(f"{entry.package}.service.SERVICE", entry)


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_of_the_table_agrees_with_its_job(name: str) -> None:
    assert disagreements(SERVICES[name], load_job(SERVICES[name].job)) == []


def test_a_forgotten_stages_is_refused_by_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    with_entry(monkeypatch, dataclasses.replace(ORDERS, stages=1))
    with pytest.raises(Disagreement, match=r"order-stores .* order_stores\.job disagree: the entry says stages=1"):
        TestDriver("order-stores")


def test_a_forgotten_stages_is_refused_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    with_entry(monkeypatch, dataclasses.replace(ORDERS, stages=1))
    kafka = KafkaSettings(bootstrap_servers="127.0.0.1:1", schema_registry_url="http://127.0.0.1:1")
    with pytest.raises(Disagreement, match=r"the job has 3: write stages=3 in the entry"):
        JobApplication(JobOptions("order-stores", kafka, Plan("/nowhere")))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda entry: dataclasses.replace(entry, stores={"profiles": "UserProfile"}),
            r"stores are {'profiles': .* write stores={'user-profiles': 'UserProfile'} in the entry",
        ),
        (
            lambda entry: dataclasses.replace(entry, inputs=(Topic("activity", "UserActivity"),)),
            r'inputs are {\'activity\': .* write inputs=\(Topic\("user_activity", "UserActivity"\),\)',
        ),
        (
            lambda entry: dataclasses.replace(entry, outputs=(Topic("user_session_stats", "Stats"),)),
            r"outputs are {'user_session_stats': 'Stats'} in the entry, {'user_session_stats': 'UserSessionStats'}",
        ),
    ],
    ids=["a store", "an input", "the record of an output"],
)
def test_differences_are_named_with_the_correction(change: Callable[[Service], Service], message: str) -> None:
    with pytest.raises(Disagreement, match=message):
        check_agreement(change(SESSIONS), load_job(SESSIONS.job))


def test_outputs_in_another_order_have_another_default() -> None:
    votes = SERVICES["menu-votes"]
    turned = dataclasses.replace(votes, outputs=votes.outputs[::-1])
    with pytest.raises(Disagreement, match=r"votes_by_region in the entry, vote_counts in the job: write vote_counts"):
        check_agreement(turned, load_job(votes.job))


def test_a_store_of_two_sub_topologies_is_refused() -> None:
    job = load_job(SESSIONS.job)
    later: Any = dataclasses.replace(load_job(ORDERS.job).then[0], processor=job.processor)
    twice: Job = dataclasses.replace(job, then=(later,))
    assert "two stages of the job declare the store 'user-profiles'" in disagreements(SESSIONS, twice)[0]


@pytest.mark.parametrize("name", SERVICES)
def test_an_entry_need_not_count_its_sub_topologies(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = dataclasses.replace(SERVICES[name], stages=0)
    with_entry(monkeypatch, entry)
    job = load_job(entry.job)
    assert disagreements(entry, job) == []
    for same in (entry, dataclasses.replace(entry, summary="s"), copy.copy(entry)):
        assert same.stages == len(job.topology)
        assert same.own_topics("app", 2) == SERVICES[name].own_topics("app", 2)


def test_a_job_that_cannot_be_loaded_is_found_when_its_sub_topologies_are_counted() -> None:
    entry = dataclasses.replace(ORDERS, stages=0, job="no.such.job")
    with pytest.raises(Mistake, match=r"no\.such"):
        _ = entry.stages
