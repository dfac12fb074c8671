"""The test driver takes a topology as it is, an entry that is in no table, and topics that a service reads itself."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from forebay.agreement import Disagreement
from forebay.builder import Topology
from forebay.catalog import Service, Topic
from forebay.testing import TestDriver
from tests.dsl.driving import Driven


def counting() -> Topology:
    t = Topology()
    t.stream("in", str).group_by(lambda _, word: word, str).count(store="n").to_stream().to("out")
    return t


def test_a_topology_is_driven_as_it_is() -> None:
    driver = TestDriver(counting(), tasks=3)
    for key in "abc":
        driver.pipe(key, "word", timestamp=1)
    assert [(sent.key, sent.value) for sent in driver.outputs] == [("word", 1), ("word", 2), ("word", 3)]
    driver.restart()
    assert driver.store("n")["word"].value == 3


def test_an_entry_need_not_be_registered_and_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("unregistered")
    module.JOB = Driven(lambda t: t.stream("in", str).to("out")).job  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "unregistered", module)
    entry = Service("unregistered", "", (Topic("in"),), (Topic("out"),), {}, "unregistered")
    assert [sent.value for sent in TestDriver(entry).pipe("k", "v")] == ["v"]
    with pytest.raises(Disagreement, match="inputs are"):
        TestDriver(Service("unregistered", "", (Topic("other"),), (Topic("out"),), {}, "unregistered"))


def through(t: Topology) -> None:
    t.stream("in", str).map_values(lambda _, v: v + "!", str).to("between")
    t.stream("between", str).select_key(lambda _, v: v, str).to("out")


def test_what_is_sent_to_a_topic_that_is_read_comes_in_again() -> None:
    run = Driven(through, tasks=2)
    assert run.pipe("in", "k", "a", 5) == [("k", "a!", 5), ("a!", "a!", 5)]


def test_records_that_go_round_for_ever_are_found() -> None:
    run = Driven(lambda t: t.stream("round", str).to("round"))
    with pytest.raises(RuntimeError, match="driven sends records to round for ever"):
        run.pipe("round", "k", "v", 1)
