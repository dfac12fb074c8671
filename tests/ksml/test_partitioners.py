"""Partitioners work for output topics, for repartition topics, and for topics that are chosen per record."""

from __future__ import annotations

import pytest

from forebay.ksml.definition import definition_of
from forebay.ksml.differences import differences
from forebay.ksml.driver import KsmlDriver
from tests.ksml.running import NUMBERS, definition

FUNCTION = """
functions:
  place:
    type: streamPartitioner
    code: |
      if value is None:
        return None
      return value if topic == "results" else len(key) % numPartitions
"""


def run_pipeline(end: str, *values: object, via: str = "", partitions: int = 4, tasks: int = 1) -> KsmlDriver:
    """Run values through a pipeline that ends with `end`."""
    text = f"{NUMBERS}{FUNCTION}\npipelines:\n  main:\n    from: numbers\n    via: [{via}]\n{end}"
    run = KsmlDriver(definition(text), tasks=tasks, partitions=partitions)
    for number, value in enumerate(values):
        run.pipe("key", value, "numbers", number)
    return run


TO = "    to: {topic: results, keyType: string, valueType: json, partitioner: place}\n"


def test_partitioner_function_chooses_the_target_partition() -> None:
    run = run_pipeline(TO, 3, 0, None)
    assert [(sent.value, sent.partition) for sent in run.sent] == [(3, 3), (0, 0), (None, None)]


def test_a_list_of_partitions_is_a_record_for_each() -> None:
    run = run_pipeline(TO, [1, 2, 1], [])
    assert [(sent.value, sent.partition) for sent in run.sent] == [([1, 2, 1], 1), ([1, 2, 1], 2)]


def test_nonexistent_and_invalid_partitions_send_the_record_to_errors() -> None:
    run = run_pipeline(TO, 4, "x", 1)
    assert [sent.partition for sent in run.sent] == [1]
    beyond, wrong = (failure.headers["error.message"] for failure in run.driver.errors)
    assert "4 was chosen, but results has the partitions 0 to 3: choose of these" in beyond
    assert "'x' is not a partition: return a whole number, a list of them, or None" in wrong


def test_partitioner_of_a_declared_stream_is_used() -> None:
    text = NUMBERS.replace("results, keyType", "results, partitioner: place, keyType")
    pipeline = "pipelines:\n  main: {from: numbers, to: results}\n"
    run = KsmlDriver(definition(f"{text}{FUNCTION}\n{pipeline}"), partitions=4)
    run.pipe("key", 2, "numbers")
    assert [sent.partition for sent in run.sent] == [2]


def test_a_chosen_topic_has_partitions_too() -> None:
    end = """
    toTopicNameExtractor:
      topicNameExtractor: {expression: "'results' if value else 'elsewhere'"}
      partitioner: place
"""
    run = run_pipeline(end, 1, 0)
    assert [(sent.topic, sent.partition) for sent in run.sent] == [("results", 1)]
    assert "the topic 'elsewhere' was chosen" in run.driver.errors[0].headers["error.message"]


def test_a_repartition_has_as_many_partitions_as_tasks() -> None:
    run = run_pipeline("    to: results\n", 1, 2, via="{type: repartition, partitioner: place}", partitions=4, tasks=2)
    assert [sent.value for sent in run.sent] == [1, 2]
    assert not run.driver.errors


def test_a_partitioner_chooses_among_the_partitions_that_the_definition_names() -> None:
    via = "{type: repartition, name: four, numberOfPartitions: 4, partitioner: four}"
    text = f"""{NUMBERS}
functions:
  four: {{type: streamPartitioner, expression: "value if numPartitions == 4 else 9", resultType: integer}}
pipelines:
  main:
    from: numbers
    via: [{via}]
    to: results
"""
    run = KsmlDriver(definition(text), tasks=2)
    for value in range(5):
        run.pipe("key", value, "numbers", value)
    assert sorted(sent.value for sent in run.sent) == [0, 1, 2, 3]
    (failed,) = run.driver.errors
    assert "4 was chosen, but four has the partitions 0 to 3" in failed.headers["error.message"]


@pytest.mark.parametrize(
    ("declared", "number"), [("", "the number of tasks"), (", numberOfPartitions: 4", "numberOfPartitions")]
)
def test_the_check_names_the_number_of_partitions_that_the_function_receives(declared: str, number: str) -> None:
    via = f"{{type: repartition, name: four{declared}, partitioner: place}}"
    text = f"{NUMBERS}{FUNCTION}\npipelines:\n  main:\n    from: numbers\n    via: [{via}]\n    to: results\n"
    (note,) = (
        one.message for one in differences(definition_of(text, "four.yaml")) if "partitioner receives" in one.message
    )
    assert f"name and {number} as the number of partitions" in note
