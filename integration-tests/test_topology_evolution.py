"""Kafka Streams' test of named repartition topics: operators are added, removed and reordered between runs of a job."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from job_process import JobProcess
from open_transactions import open_transactions
from own_service import own_service
from own_topics import settings_of
from steady_load import Sent, SteadyLoad
from topic_reading import PositionWatch, read_topic

from forebay.catalog import find_service
from forebay.kafka.settings import KafkaSettings
from forebay.platform import Endpoints

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SERVICE, WORDS, COUNTS, LETTERS = "evolution", "evolution-words", "evolution-counts", "evolution-letters"
TASKS = 2
START = 1_735_689_600_000
MODULE = """
from dataclasses import dataclass

from forebay.builder import Topology, job


@dataclass(frozen=True, slots=True)
class Nothing:
    pass


def build(_):
    t = Topology()
    words = t.stream("evolution-words", str)
    {operators}
    return t


JOB = job(Nothing, build)
"""
LETTERS_COUNTED = (
    "words.select_key(lambda _, word: word[0], str).repartition('by-letter').group_by_key()"
    ".count(store='letters').to_stream().to('evolution-letters')"
)
WORDS_COUNTED = (
    "words{before}.select_key(lambda _, word: word, str){between}.repartition('by-word'){after}.group_by_key()"
    ".count(store='words').to_stream().to('evolution-counts')"
)
RELEASES = {
    "first": [WORDS_COUNTED.format(before="", between="", after="")],
    "operators and a part added": [
        LETTERS_COUNTED,
        WORDS_COUNTED.format(
            before=".filter(lambda _, word: bool(word))", between="", after=".map_values(lambda _, word: word, str)"
        ),
    ],
    "reordered": [
        WORDS_COUNTED.format(
            before="", between=".map_values(lambda _, word: word, str).filter(lambda _, word: bool(word))", after=""
        ),
        LETTERS_COUNTED,
    ],
    "a part removed": [WORDS_COUNTED.format(before=".peek(lambda _, word: None)", between="", after="")],
    "the part restored": [
        LETTERS_COUNTED,
        WORDS_COUNTED.format(before="", between="", after=".filter(lambda _, word: bool(word))"),
    ],
}


def records() -> Iterator[Sent]:
    for number in count():
        word = f"{'abcdef'[number * 7 % 6]}{number * 13 % 40}"
        yield WORDS, f"k{number % 50}", word.encode(), START + number * 20


def counts_by_key(settings: KafkaSettings, topic: str) -> dict[str, list[int]]:
    counts = defaultdict(list)
    for messages in read_topic(settings, topic).values():
        for message in messages:
            counts[(message.key() or b"").decode()].append(int.from_bytes(message.value() or b"", "big"))
    return counts


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "killed"])
def test_topology_changes_lose_and_duplicate_nothing(
    endpoints: Endpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, clean: bool
) -> None:
    settings, module = settings_of(endpoints), tmp_path / "evolution_topology.py"
    monkeypatch.syspath_prepend(str(tmp_path))

    def release(name: str) -> None:
        module.write_text(MODULE.format(operators="\n    ".join(RELEASES[name])))

    release("operators and a part added")  # this release has all topics
    with own_service(SERVICE, "evolution_topology", TASKS, endpoints, tmp_path) as service:
        topics = [topic.name for topic in find_service(SERVICE).topics(SERVICE, TASKS)]
        environment = {**service.environment, "PYTHONDONTWRITEBYTECODE": "1"}
        # The task of the input is in the first sub-topology in every release.
        positions = PositionWatch(settings, [(f"{SERVICE}-0-task", task) for task in range(TASKS)])
        load = SteadyLoad(settings, records(), rate=200)
        command = [*service.command, "--slots", "2"]

        def until_committed(job: JobProcess) -> None:
            wanted = positions.commits() + 40
            job.until(lambda: positions.commits() >= wanted, "40 more commits")

        for name in RELEASES:
            release(name)
            job = JobProcess(command, tmp_path / "job.log", environment)
            try:
                until_committed(job)
                if clean:
                    assert job.terminate() == 0, job.text()
            finally:
                job.kill()
        sent = load.close()
        job = JobProcess([*command, "--trigger", "available-now"], tmp_path / "job.log", environment)
        try:
            assert job.finish() == 0, job.text()
        finally:
            job.kill()
        positions.close()
        wanted = Counter((value or b"").decode() for _, _, value, _ in sent)
        counts, letters = counts_by_key(settings, COUNTS), counts_by_key(settings, LETTERS)
        assert counts == {word: [*range(1, total + 1)] for word, total in wanted.items()}
        # Records of the first release, and of the release without this part, are not counted.
        assert letters == {letter: [*range(1, len(of_letter) + 1)] for letter, of_letter in letters.items()}
        assert 100 < sum(map(len, letters.values())) < len(sent)
        assert open_transactions(settings, topics) == {}
        assert read_topic(settings, f"{SERVICE}.errors") == {0: []}
    sys.modules.pop("evolution_topology")
