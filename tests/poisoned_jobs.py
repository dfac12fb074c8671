"""Jobs in SQL, KSML and the DSL that process poisonous records. Each has a repartition and costly expressions.

A good record has the text "good" in its field K and its number in N.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from forebay.builder import Topology
from forebay.builder.topology_job import job
from forebay.declaration import declare
from forebay.job import Job
from forebay.ksml.compile import definitions, job_of
from forebay.ksml.definition import definition_of
from forebay.ksml.schemas import SchemaFiles
from forebay.serde.json_format import JSON
from forebay.sql.compile import topology_of
from forebay.sql.program import program_of
from forebay.sql.service import NoSettings

SQL = """
CREATE STREAM s (id STRING KEY, k STRING, n BIGINT, t STRING)
  WITH (KAFKA_TOPIC='poison_sql', PARTITIONS=2, VALUE_FORMAT='JSON');
CREATE STREAM o WITH (KAFKA_TOPIC='poison_sql_out') AS
  SELECT id, k, n, LPAD(t, CAST(n AS INT), 'x') AS t, REGEXP_REPLACE(t, '(x|xx|x+)+y', '') AS r,
    ARRAY_LENGTH(TRANSFORM(GENERATE_SERIES(1, CAST(n AS INT)), i => LPAD(t, 1000, 'x'))) AS l FROM s;
CREATE TABLE sums WITH (KAFKA_TOPIC='poison_sql_sums') AS SELECT k, COUNT(*) AS c, SUM(n) AS n FROM o GROUP BY k;
"""
KSML = """
streams:
  in: {topic: poison_ksml, keyType: string, valueType: json}
  o: {topic: poison_ksml_out, keyType: string, valueType: json}
functions:
  padded:
    type: valueTransformer
    code: |
      value["T"] = value["T"] * int(value["N"])
    expression: value
    resultType: json
  key_of:
    type: keyTransformer
    expression: value["K"]
    resultType: string
pipelines:
  main:
    from: in
    via:
      - {type: transformValue, mapper: padded}
      - {type: transformKey, mapper: key_of}
      - {type: repartition, name: moved}
    to: o
"""


def dsl_topology(_: Any = None) -> Topology:
    """Return the topology of the job in the DSL."""
    topology = Topology()
    rows: Any = topology.stream("poison_dsl", JSON)
    many = rows.flat_map_values(lambda _, row: [row["T"]] * int(row["N"]), str)
    moved = many.select_key(lambda _, text: text, str).repartition("moved")
    moved.group_by_key().count(store="counts").to_stream().to("poison_dsl_out")
    return topology


JOB = job(NoSettings, dsl_topology)
SERVICE = declare(name="poison-dsl", summary="counts texts", job=__name__, made=JOB, partitions={"poison_dsl": 2})


@dataclass(frozen=True, slots=True)
class PoisonedJob:
    """A job and its topics.

    Args:
        numbers: Function that returns the numbers of the good records in keys and values of the output topic.
    """

    make: Callable[[], Job]
    topic: str
    output: str
    numbers: Callable[[Iterable[tuple[bytes, bytes]]], list[int]]


def _rows(results: Iterable[tuple[bytes, bytes]]) -> list[int]:
    rows = [json.loads(value) for _, value in results]
    return sorted(row["N"] for row in rows if row["K"] == "good")


def _texts(results: Iterable[tuple[bytes, bytes]]) -> list[int]:
    return sorted({int(key[4:]) for key, _ in results if key.startswith(b"good")})


JOBS = {
    "SQL": PoisonedJob(
        lambda: job(NoSettings, lambda _: topology_of(program_of(SQL, "poison.sql"))),
        "poison_sql",
        "poison_sql_out",
        _rows,
    ),
    "KSML": PoisonedJob(
        lambda: job_of(definitions([definition_of(KSML, "poison.yaml")], SchemaFiles([]))),
        "poison_ksml",
        "poison_ksml_out",
        _rows,
    ),
    "DSL": PoisonedJob(lambda: JOB, "poison_dsl", "poison_dsl_out", _texts),
}


def good_value(number: int) -> bytes:
    """Return the value of a good record, numbered from 1."""
    return json.dumps({"K": "good", "N": number, "T": f"good{number}"}).encode()
