"""A processor can load a model when its task opens, as docs/spark.md recommends."""

from __future__ import annotations

from dataclasses import dataclass

from forebay.builder import Topology, job
from forebay.processor import Context, Processor
from forebay.testing import TestDriver

LOADED: list[str] = []


@dataclass(frozen=True, slots=True)
class Nothing:
    """No settings."""


class Score(Processor[int, int]):
    def load_model(self) -> None:
        LOADED.append("model")
        self._factor = 3

    init = load_model

    def process(self, event: int, ctx: Context[int]) -> None:
        ctx.forward(event * self._factor)


def build(_: Nothing) -> Topology:
    t = Topology()
    t.stream("amounts", int).process(Score, int, name="score").to("scores")
    return t


def test_the_model_is_loaded_once_for_each_task() -> None:
    LOADED.clear()
    driver = TestDriver(job(Nothing, build), tasks=3)
    for number in range(20):
        driver.pipe(f"k{number}", number, "amounts", number)
    assert [output.value for output in driver.outputs] == [3 * number for number in range(20)]
    assert len(LOADED) == 3
