"""A task's report fits into an offset's metadata, even if names of topics and stores are long."""

from __future__ import annotations

import json

from forebay.runtime.task.statistics import OTHERS, TaskFigures


def test_many_topics_with_long_names_are_summed_up() -> None:
    figures = TaskFigures(0, 1)
    names = [f"{number:02}-" + "n" * 240 for number in range(60)]
    figures.records_in, figures.sent = dict.fromkeys(names, 2), dict.fromkeys(names, 3)
    figures.stores = {name: [1, 2, 3, 4] for name in names}
    text = figures.to_json()
    assert len(json.dumps({"trouble": "t" * 300, "figures": text})) < 4_096
    report = TaskFigures.from_json(text)
    assert (sum(report.records_in.values()), sum(report.sent.values())) == (120, 180)
    assert set(report.records_in) == {*names[:3], OTHERS}


def test_a_report_that_fits_names_all_topics() -> None:
    figures = TaskFigures(0, 1)
    figures.records_in, figures.sent = {"orders": 7}, {"bills": 8, "mails": 9}
    report = TaskFigures.from_json(figures.to_json())
    assert (report.records_in, report.sent) == ({"orders": 7}, {"bills": 8, "mails": 9})
