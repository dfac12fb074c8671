"""Random graphs of table operations, with records for their topics."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import Enum


class Verb(Enum):
    """The operation of a step on a topic or on earlier steps. Each result is a table of numbers by text key."""

    TABLE = "table"  # the latest record of a topic
    VERSIONED = "versioned"  # the latest record of a topic by timestamp
    FILTER = "filter"
    MAP = "map"
    KEEP = "keep"  # the same rows, materialized
    JOIN = "join"
    LEFT_JOIN = "left join"
    OUTER_JOIN = "outer join"
    FOREIGN = "join by foreign key"
    LEFT_FOREIGN = "left join by foreign key"
    GROUP = "group"  # count and sum of a table's rows by a group of their value
    SUM = "sum"  # sum of a topic's records by key
    ENRICH = "enrich"  # sum of a topic's records by key, each joined with a table
    TUMBLING = "tumbling"  # like the next three: counts of a topic's records by window, joined with a filtered copy
    HOPPING = "hopping"
    SLIDING = "sliding"
    SESSIONS = "sessions"
    SUPPRESS = "suppress"


TOPICS = {Verb.TABLE, Verb.VERSIONED, Verb.SUM, Verb.ENRICH, Verb.TUMBLING, Verb.HOPPING, Verb.SLIDING, Verb.SESSIONS}
WINDOWS = {Verb.TUMBLING, Verb.HOPPING, Verb.SLIDING, Verb.SESSIONS}
ONE = {Verb.FILTER, Verb.MAP, Verb.KEEP, Verb.GROUP, Verb.SUPPRESS}
TWO = {Verb.JOIN, Verb.LEFT_JOIN, Verb.OUTER_JOIN, Verb.FOREIGN, Verb.LEFT_FOREIGN}

KEYS = ("a", "b", "c")


@dataclass(frozen=True, slots=True)
class Step:
    """A step, whose result is a table.

    Args:
        number: Variant of filters, maps and aggregates.
        of: Positions of its input steps.
        topic: Topic that it reads, or "".
    """

    verb: Verb
    number: int = 0
    of: tuple[int, ...] = ()
    topic: str = ""


@dataclass(frozen=True, slots=True)
class Sent:
    """An input record. A value of None deletes the row."""

    topic: str
    key: str
    value: int | None
    time: int


@dataclass(frozen=True, slots=True)
class Case:
    """A graph, its input records, and how it runs.

    Args:
        restarts: Positions of the records after which the job restarts from its changelogs.
    """

    steps: tuple[Step, ...]
    records: tuple[Sent, ...]
    tasks: int = 1
    restarts: frozenset[int] = frozenset()

    def __str__(self) -> str:
        lines = [f"{self.tasks} tasks, restarts after records {sorted(self.restarts)}"]
        for at, step in enumerate(self.steps):
            made_of = step.topic or ""
            others = ", ".join(str(item) for item in step.of)
            lines.append(
                f"  {at} = {step.verb.value}({', '.join(filter(None, (made_of, others)))}) number={step.number}"
            )
        return "\n".join([*lines, *(f"  send {record}" for record in self.records)])


class Results(Enum):
    """The emission of a windowed step."""

    UPDATES = 0
    BOTH = 1
    FINAL = 2
    SUPPRESSED = 3


def results_of(step: Step) -> Results:
    """Return the emission of a windowed step."""
    return Results(step.number % 4)


def is_final_only(steps: tuple[Step, ...]) -> bool:
    """Return whether results can be compared only at the end, after all suppressed and final results are emitted."""
    return any(
        step.verb is Verb.SUPPRESS or (step.verb in WINDOWS and results_of(step) in (Results.FINAL, Results.SUPPRESSED))
        for step in steps
    )


def random_case(seed: int, verbs: frozenset[Verb], steps: int = 9, records: int = 14) -> Case:
    """Return a random case. In about half of the joins, both sides derive from one table."""
    dice = random.Random(seed)
    results: list[Step] = []
    for _ in range(dice.randint(4, steps)):
        results.append(_step(dice, results, verbs))
    topics = [step.topic for step in results if step.topic]
    time, sent = 0, []
    for _ in range(dice.randint(4, records)):
        time += dice.choice((0, 1, 1, 3, 8))
        topic = dice.choice(topics)
        is_versioned = any(step.topic == topic and step.verb is Verb.VERSIONED for step in results)
        at = max(0, time - dice.choice((0, 0, 2, 5))) if is_versioned else time
        value = None if dice.random() < 0.25 else dice.randint(0, 20)
        sent.append(Sent(topic, dice.choice(KEYS), value, at))
    restarts = frozenset(at for at in range(len(sent)) if dice.random() < 0.08)
    return Case(tuple(results), tuple(sent), dice.randint(1, 3), restarts)


def _step(dice: random.Random, made: list[Step], verbs: frozenset[Verb]) -> Step:
    number = dice.randint(0, 9)
    # The model knows the row that a record is joined with only if the table emits every change at once.
    may_enrich = made and not is_final_only(tuple(made))
    sources = [verb for verb in verbs if verb in TOPICS and (verb is not Verb.ENRICH or may_enrich)]
    others = [verb for verb in verbs if verb not in TOPICS]
    if not made or dice.random() < 0.15:
        choices = sorted(sources, key=lambda verb: verb.value)
        verb = Verb.TABLE if not made else dice.choice(choices)
        of = (dice.randrange(len(made)),) if verb is Verb.ENRICH else ()
        return Step(verb, number, of, f"t{len(made)}")
    weights = [4 if verb in TWO else 2 for verb in sorted(others, key=lambda verb: verb.value)]
    verb = dice.choices(sorted(others, key=lambda verb: verb.value), weights)[0]
    # The newest steps are chosen most often, so that graphs are deep and their sides have common ancestors.
    recent = [max(0, len(made) - 1 - int(dice.expovariate(0.6))) for _ in range(2)]
    if verb is Verb.SUPPRESS and made[recent[0]].verb is Verb.VERSIONED:
        verb = Verb.KEEP  # a versioned table can't be suppressed
    return Step(verb, number, tuple(recent) if verb in TWO else (recent[0],))
