"""An engine in a cluster accepts statements with its token, and keeps running them after its pod is replaced."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from cluster.forward import Forward, free_port
from cluster.kube import chart
from cluster.polling import poll_until
from cluster.release import ALL, Release

from charts.umbrella import UMBRELLA

pytestmark = pytest.mark.timeout(1200, func_only=True)

STATEMENTS = """
CREATE STREAM readings (sensor VARCHAR KEY, reading DOUBLE)
  WITH (KAFKA_TOPIC='readings', PARTITIONS=2, VALUE_FORMAT='JSON');
CREATE TABLE totals AS SELECT sensor, SUM(reading) AS total FROM readings GROUP BY sensor;
INSERT INTO readings VALUES ('s-1', 4.5);
"""
SELECTOR = "app.kubernetes.io/instance=demo,app.kubernetes.io/component=engine"


@pytest.fixture
def engine(release: Release) -> Release:
    """Install a broker and an engine."""
    off = [part for name in ALL for part in ("--set", f"{name}.enabled=false")]
    chosen = ["--set", f"global.image.tag={release.tag},engine.enabled=true,engine.resources.requests.cpu=50m", *off]
    release.namespace.helm("upgrade", "--install", "demo", chart(UMBRELLA), "--wait", "--timeout", "10m", *chosen)
    return release


def pod_of(engine: Release) -> str:
    """Return the name of the engine's ready pod, or "" if no pod is ready."""
    names = engine.namespace.names("pods", SELECTOR)
    return next((name for name in names if engine.namespace.is_ready(name)), "")


def send(port: int, token: str, sql: str) -> list[dict[str, Any]]:
    """Send statements and return the rows of the response."""
    headers = {"Authorization": f"Bearer {token}"}
    request = Request(f"http://127.0.0.1:{port}/sql", json.dumps({"sql": sql}).encode(), headers)
    with urlopen(request, timeout=60) as response:
        lines = [json.loads(line) for line in response.read().splitlines()]
    return [line["row"] for line in lines if "row" in line]


def total(port: int, token: str) -> Any:
    """Return the total of the only sensor, or None while it can't be queried."""
    try:
        rows = send(port, token, "SELECT * FROM totals;")
    except (HTTPError, OSError):
        return None
    return rows[0]["TOTAL"] if rows else None


def test_an_engine_keeps_its_statements_and_state_when_its_pod_is_replaced(engine: Release) -> None:
    token = engine.namespace.secret("demo-engine-token", "token")
    pod = pod_of(engine)
    with closing(Forward(engine.namespace, pod, free_port(), 7070)) as forward:
        forward.wait()
        with pytest.raises(HTTPError, match="401"):
            send(forward.port, "wrong", "SHOW QUERIES;")
        assert len(send(forward.port, token, STATEMENTS)) == 3
        poll_until(lambda: total(forward.port, token) == 4.5, lambda: engine.log(pod, "engine")[-800:], 180)
    engine.namespace.kubectl("delete", "pod", pod)
    poll_until(lambda: pod_of(engine) not in ("", pod), "another engine is ready", 180)
    pod = pod_of(engine)
    with closing(Forward(engine.namespace, pod, free_port(), 7070)) as forward:
        forward.wait()
        send(forward.port, token, "INSERT INTO readings VALUES ('s-1', 2.0);")
        poll_until(lambda: total(forward.port, token) == 6.5, lambda: engine.log(pod, "engine")[-800:], 180)
