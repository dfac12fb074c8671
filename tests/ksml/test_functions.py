"""Functions of KSML: their arguments, what they may do, and the effect of a failure."""

from __future__ import annotations

import gc
import logging

import pytest

from forebay.ksml.logs import fill_placeholders
from forebay.ksml.watch import WATCHERS, Watch
from tests.ksml.running import NUMBERS, driver, results, through


def message(run: object) -> str:
    (error,) = run.driver.errors  # type: ignore[attr-defined]
    return str(error.headers["error.message"])


def test_an_expression_and_code_give_a_value() -> None:
    run = through(
        """
        - type: mapValues
          mapper:
            code: |
              double = value * 2
            expression: double + 1
            resultType: long
        """,
        ("a", 3),
    )
    assert results(run) == [("a", 7)]


def test_functions_call_each_other_and_share_global_variables() -> None:
    run = through(
        "\n- {type: mapValues, mapper: counted}",
        ("a", 1),
        ("a", 1),
        more="""
        functions:
          add:
            parameters: [{name: a, type: int}, {name: b, type: int, defaultValue: 100}]
            expression: a + b
            resultType: int
          counted:
            type: valueTransformer
            globalCode: |
              count = 0
            code: |
              global count
              count += 1
              return {"count": count, "sum": add(count), "named": add(b=1, a=2)}
            resultType: json
        """,
    )
    assert results(run) == [("a", {"count": 1, "sum": 101, "named": 3}), ("a", {"count": 2, "sum": 102, "named": 3})]


def test_nulls_are_records() -> None:
    run = through(
        """
        - {type: filter, if: {expression: key is None or value is None}}
        - {type: mapValues, mapper: {expression: '"null here" if value is None else value', resultType: json}}
        """,
        ("a", None),
        (None, 1),
        ("b", 2),
    )
    assert results(run) == [("a", "null here"), (None, 1)]


def test_a_function_s_mutations_do_not_affect_others() -> None:
    run = through(
        """
        - {type: peek, forEach: {code: 'value["n"] = 0'}}
        """,
        ("a", {"n": 5}),
    )
    assert results(run) == [("a", {"n": 5})]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("{expression: value / 0, resultType: double}", "ZeroDivisionError: division by zero"),
        ("{expression: '\"no number\"', resultType: long}", "its result is not long: 'no number' is str, not long"),
        ("{expression: '{1, 2}.add', resultType: json}", "its result is not json"),
        ("{expression: value, resultType: 'enum(A, B)'}", "1 is not one of A, B"),
        ("{expression: 'float(\"nan\")', resultType: json}", "nan is not a number of JSON"),
    ],
)
def test_a_record_that_makes_a_function_fail_goes_to_errors_and_the_job_continues(body: str, reason: str) -> None:
    run = through(f"\n- {{type: mapValues, mapper: {body}}}", ("a", 1))
    assert reason in message(run)
    assert not run.sent
    run.pipe("b", None, "numbers", 5)


def test_an_error_names_the_line_of_the_file_and_of_the_function() -> None:
    text = f"""{NUMBERS}
functions:
  fails:
    type: valueTransformer
    code: |
      a = 1

      raise KeyError("here")
    resultType: json
pipelines:
  main: {{from: numbers, via: [{{type: mapValues, mapper: fails}}], to: results}}
"""
    run = driver(text)
    run.pipe("a", 1, "numbers")
    line = text.split("\n").index('      raise KeyError("here")') + 1
    assert f"test.yaml:{line}: function fails, its line 3: KeyError: 'here'" in message(run)


def test_a_function_that_loops_is_ended() -> None:
    text = f"""{NUMBERS}
pipelines:
  main:
    from: numbers
    via:
      - type: peek
        forEach:
          code: |
            while value == 1:
              try:
                pass
              except Exception:
                pass
    to: results
"""
    run = driver(text, function_time_limit_ms=50)
    run.pipe("a", 1, "numbers")
    assert "it took longer than 50 ms: end its loop" in message(run)
    run.pipe("a", 2, "numbers")
    assert results(run) == [("a", 2)]


def test_functions_that_end_about_when_their_time_is_over_end_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forebay.ksml.watch._LOOK_SECONDS", 0.0005)
    text = f"""{NUMBERS}
pipelines:
  main:
    from: numbers
    via:
      - type: peek
        forEach:
          globalCode: import time
          code: |
            end = time.perf_counter() + value
            while time.perf_counter() < end:
              pass
    to: results
"""
    run = driver(text, function_time_limit_ms=2)
    for number in range(100):
        run.pipe("a", number / 25_000, "numbers")
    assert len(run.sent) + len(run.driver.errors) == 100


def test_watches_of_ended_tasks_are_released() -> None:
    gc.collect()
    before = WATCHERS[0].count()
    for _ in range(3):
        watch = Watch(limit_ms=1_000)
        watch.begin()
        watch.end()
        assert WATCHERS[0].count() >= 1
    del watch
    gc.collect()
    assert WATCHERS[0].count() <= before


def test_log_fills_placeholders(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "ksml"):
        through("\n- {type: peek, forEach: {code: 'log.info(\"key={}, value={}\", key, value)'}}", ("a", 1))
    assert "key=a, value=1" in caplog.text
    assert fill_placeholders("{} and {}", (1,)) == "1 and {}"


def test_metrics_are_counted_by_name_and_tags() -> None:
    run = through(
        """
        - type: peek
          forEach:
            code: |
              metrics.counter("test-seen", {"key": key}).increment()
              metrics.meter("test-marked").mark(2)
              metrics.timer("test-timed").updateMillis(1500)
        """,
        ("a", 1),
        ("a", 2),
    )
    assert run.driver.sub_topologies[0].processors[0].figures() == {
        "test-marked": 4,
        "test-seen{key=a}": 2,
        "test-timed": 2,
        "test-timed seconds": 3.0,
    }
