"""Alerts and dashboard refer only to metrics that a job or its query server exports."""

from __future__ import annotations

import json
import re

from prometheus_client import CollectorRegistry

from charts.reference import CHARTS
from forebay.queries.metrics import QueryMetrics
from forebay.runtime.observability.metrics import JobMetrics

METRIC = re.compile(r"\bforebay_[a-z_]+")
DASHBOARD = CHARTS / "forebay" / "dashboards" / "forebay.json"
ALERTS = CHARTS / "forebay-service" / "templates" / "alerts.yaml"


def known() -> set[str]:
    names = set()
    queries = CollectorRegistry()
    QueryMetrics("a-service", queries)
    for family in (*JobMetrics("a-service").registry.collect(), *queries.collect()):
        names |= {family.name, f"{family.name}_total", f"{family.name}_bucket"}
    return names


def test_the_dashboard_shows_metrics_that_exist() -> None:
    used = set(METRIC.findall(DASHBOARD.read_text()))
    assert len(used) > 8
    assert used <= known()


def test_the_alerts_watch_metrics_that_exist() -> None:
    used = set(METRIC.findall(ALERTS.read_text()))
    assert len(used) > 4
    assert used <= known()


def test_every_panel_says_what_it_is_for() -> None:
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        assert panel["title"]
        assert panel["description"], panel["title"]


def test_each_alert_has_its_section_in_the_runbook() -> None:
    alerts = re.findall(r"alert: (\w+)", ALERTS.read_text())
    links = re.findall(r"runbooks \}\}#(\w+)", ALERTS.read_text())
    sections = re.findall(r"^### (\w+)$", (CHARTS.parent / "docs" / "operations.md").read_text(), re.M)
    assert links == [alert.lower() for alert in alerts]
    assert set(alerts) <= set(sections)
