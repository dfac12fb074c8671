"""Functions use stores with the methods of KSML."""

from __future__ import annotations

from typing import Any

from tests.ksml.running import NUMBERS, driver, results, through


def values(store: str, code: str, *records: tuple[Any, ...]) -> list[Any]:
    """Return the results of a function that uses the store `kept`, for some records."""
    lines = "\n".join(f"              {line}" for line in code.strip().split("\n"))
    run = through(
        f"""
        - type: mapValues
          mapper:
            stores: [kept]
            resultType: json
            code: |
{lines}
        """,
        *records,
        more=f"stores:\n  kept: {store}",
    )
    assert not run.driver.errors, run.driver.errors[0].headers["error.message"]
    return [value for _, value in results(run)]


def test_a_key_value_store() -> None:
    code = """
before = kept.putIfAbsent(key, [])
held = kept.get(key)
held.append(value)
if value == 2:
  kept.put(key, held)
if value == 3:
  return [kept.delete(key), kept.get(key), stores["kept"].name()]
return [before, kept.get(key), [each["key"] for each in kept.all()], kept.approximateNumEntries()]
"""
    result = values("{type: keyValue, keyType: string, valueType: json}", code, ("a", 1), ("a", 2), ("a", 3))
    assert result == [[None, [], ["a"], 1], [[], [2], ["a"], 1], [[2], None, "kept"]]


def test_a_range_is_an_iterator_of_java_and_of_python() -> None:
    code = """
kept.put(value, value * 2)
found, entries = [], kept.range(2, 9)
while entries.hasNext():
  found.append(entries.next()["value"])
return found
"""
    result = values("{type: keyValue, keyType: long, valueType: long}", code, ("a", 10), ("a", 3), ("a", 2))
    assert result == [[], [6], [4, 6]]


def test_a_timestamped_store() -> None:
    code = """
before = kept.get(key)
kept.put(key, value, 7)
return [before, kept.get(key)]
"""
    result = values("{type: keyValue, keyType: string, valueType: long, timestamped: true}", code, ("a", 1))
    assert result == [[None, {"value": 1, "timestamp": 7}]]


def test_a_versioned_store() -> None:
    code = """
kept.put(key, value, value * 100)
return [kept.get(key), kept.get(key, 150)]
"""
    store = "{type: keyValue, keyType: string, valueType: long, versioned: true, historyRetention: 1h}"
    result = values(store, code, ("a", 1), ("a", 2))
    assert result[1] == [{"value": 2, "timestamp": 200}, {"value": 1, "timestamp": 100, "validTo": 200}]


def test_a_put_into_a_versioned_store_returns_the_end_of_its_validity() -> None:
    code = "return kept.put(key, value, value)"
    store = "{type: keyValue, keyType: string, valueType: long, versioned: true, historyRetention: 10ms}"
    records = (("a", 100), ("a", 95), ("a", 100), ("a", 89))
    assert values(store, code, *records) == [-1, 100, -1, -(2**63)]


def test_a_window_store() -> None:
    code = """
kept.put(key, value, value * 100)
found = [[e["key"], e["value"]] for e in kept.fetch(key, 0, 1000)]
return [kept.fetch(key, 100), found, len(list(kept.fetchAll(0, 9)))]
"""
    result = values(
        "{type: window, keyType: string, valueType: long, windowSize: 1m, retention: 1h}", code, ("a", 1), ("a", 2)
    )
    assert result[1] == [1, [[100, 1], [200, 2]], 0]


def test_a_timestamped_window_store() -> None:
    code = """
kept.put(key, value, value * 100, 7)
return [kept.fetch(key, 100), [each["value"]["timestamp"] for each in kept.all()]]
"""
    store = "{type: window, keyType: string, valueType: long, windowSize: 1m, retention: 1h, timestamped: true}"
    assert values(store, code, ("a", 1)) == [[{"value": 1, "timestamp": 7}, [7]]]


def test_a_session_store() -> None:
    code = """
session = {"key": key, "start": value, "end": value + 5}
kept.put(session, value)
found = [[e["key"]["start"], e["value"]] for e in kept.fetch(key)]
kept.remove(session) if value == 2 else None
return [found, kept.fetchSession(key, 1, 6)]
"""
    result = values(
        "{type: session, keyType: string, valueType: long, retention: 1h}", code, ("a", 1), ("a", 2), ("a", 3)
    )
    assert result == [[[[1, 1]], 1], [[[1, 1], [2, 2]], 1], [[[1, 1], [3, 3]], 1]]


def test_a_wrong_type_is_reported_with_the_store() -> None:
    run = through(
        "\n- {type: peek, forEach: {stores: [kept], code: 'kept.put(key, [1])'}}",
        ("a", 1),
        more="stores:\n  kept: {type: keyValue, keyType: string, valueType: long}",
    )
    assert "store kept: [1] is list, not long" in run.driver.errors[0].headers["error.message"]


def test_store_uses_the_declared_options() -> None:
    run = driver(
        f"""{NUMBERS}
pipelines:
  main:
    from: numbers
    via:
      - {{type: groupByKey}}
      - {{type: count, store: {{name: counts, type: keyValue, caching: true, logging: false, persistent: false}}}}
      - {{type: toStream}}
    to: results
"""
    )
    retained = run.store("counts").options  # type: ignore[union-attr]
    assert (retained, retained.caching, retained.logging, retained.persistent) == ("counts", True, False, False)
