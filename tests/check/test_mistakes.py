"""Each mistake in a service's files is reported in one line with the file, the line number and the correction."""

from __future__ import annotations

import re

import pytest

from forebay.cli.main import run
from forebay.serde.subjects import LocalSubjects, connect
from tests.check.conftest import Project

pytestmark = pytest.mark.long

NOWHERE = ("--bootstrap-servers", "127.0.0.1:9", "--schema-registry-url", "http://127.0.0.1:9")

MISTAKES = {
    "an attribute that the record lacks": (
        ("logic.py", "total.amount + event.amount", "total.amount + event.amont"),
        r"PACKAGE/logic.py, line 30, in process: AttributeError: 'Event' object has no attribute 'amont'; did you mean "
        r"'amount'\? \(record 1 of PACKAGE_events, key 'user-\d+'\): correct it, then run `forebay check NAME`",
    ),
    "a processor without process()": (
        ("logic.py", "def process(self", "def proces(self"),
        r"PACKAGE/job.py, line \d+: ValueError: the processor Totals of PACKAGE.logic lacks process\(\): define it",
    ),
    "a name that is not defined": (
        ("logic.py", "or _NEW", "or _NEV"),
        r"PACKAGE/logic.py, line 29, in process: NameError: name '_NEV' is not defined; did you mean '_NEW'\?",
    ),
    "syntax": (("logic.py", "or _NEW", "or or _NEW"), r"PACKAGE/logic.py, line 29: SyntaxError: invalid syntax"),
    "a setting that is not there": (
        ("logic.py", "settings.least_amount", "settings.least"),
        r"PACKAGE/logic.py, line 21, in __init__: AttributeError: 'Settings' object has no attribute 'least'",
    ),
    "a name to import": (
        ("logic.py", "import Event, Total, UserTotal", "import Event, Total, UserTotals"),
        r"PACKAGE/logic.py, line 9: ImportError: cannot import name 'UserTotals' from 'PACKAGE.model'",
    ),
    "a store that the entry lacks": (
        ("service.py", 'stores={"totals": "Total"}', "stores={}"),
        r"stores are {} in the entry, {'totals': 'Total'} in the job: write stores={'totals': 'Total'} in the entry",
    ),
    "a topic's name that Kafka does not take": (
        ("service.py", 'Topic("PACKAGE_totals"', 'Topic("user totals"'),
        r"PACKAGE/service.py, line \d+: IllegalName: 'user totals' is not a name that Kafka takes .*: write "
        r"'user_totals'",
    ),
    "a store's name that Kafka does not take": (
        ("service.py", '{"totals": "Total"}', '{"totals/user": "Total"}'),
        r"PACKAGE/service.py, line \d+: IllegalName: 'totals/user' is not a name .*: write 'totals_user'",
    ),
    "a topic without partitions": (
        ("service.py", '_events", "Event")', '_events", "Event", 0)'),
        r"PACKAGE/service.py, line \d+: ValueError: the topic PACKAGE_events has 0 partitions: write partitions=1",
    ),
    "a topic of another name": (
        ("service.py", 'Topic("PACKAGE_totals"', 'Topic("totals"'),
        r'write outputs=\(Topic\("PACKAGE_totals", "UserTotal"\),\) in the entry, or correct it',
    ),
    "a value of another type": (
        ("logic.py", "kind=event.kind, events=total.events", "kind=event.kind, events=event.kind"),
        r"PACKAGE/logic.py, line 32, in process: EncodeError: UserTotal.events must be int, is str '\w+' \(record 1",
    ),
    "a forward to nowhere": (
        ("logic.py", "amount=total.amount))", 'amount=total.amount), to="totals")'),
        r"line 32, in process: ValueError: there is no target 'totals': forward to one of PACKAGE_totals",
    ),
    "a timer without on_timer": (
        (
            "logic.py",
            "        total = self.totals.get",
            '        ctx.schedule("x", 1)\n        total = self.totals.get',
        ),
        r"the logic of NAME: Totals sets the timer 'x' but has no on_timer\(\)",
    ),
    "a record that its contract does not know": (
        ("model.py", "    kind: str\n    amount: float\n    timestamp", "    kind: str\n    sum: float\n    timestamp"),
        r"Event does not fit the contract PACKAGE.Event: only Event has sum, only PACKAGE.Event has amount",
    ),
    "a type that Avro lacks": (
        ("avro/Total.avsc", '"double"', '"duble"'),
        r"^error: NAME: .*PACKAGE/avro/Total.avsc: not an Avro schema: UnknownType: PACKAGE.duble",
    ),
    "a setting without a default": (
        ("settings.py", "least_amount: float = 0.0", "least_amount: float"),
        r"the setting least_amount has no default: write `least_amount: float = ...` in Settings of PACKAGE.settings",
    ),
    "settings that are not a dataclass": (
        ("settings.py", "@dataclass(frozen=True, slots=True)\n", ""),
        r"Settings is not a dataclass: write @dataclass\(frozen=True, slots=True\) above it in PACKAGE.settings",
    ),
    "no JOB": (("job.py", "JOB =", "JOBS ="), r"PACKAGE.job has no JOB: write `JOB = Job\(inputs={...}, "),
    "a JOB that is none": (
        ("job.py", "JOB = Job(", "JOB = dict("),
        r"JOB of PACKAGE.job is dict .*: write `JOB = Job\(",
    ),
    "no SERVICE": (
        ("service.py", "SERVICE =", "ENTRY ="),
        r"PACKAGE.service \(named by the entry point NAME in pyproject.toml\) has no SERVICE: write `SERVICE = ",
    ),
    "no SOURCE": (
        ("producer.py", "SOURCE =", "EVENTS ="),
        r'has no SOURCE: write `SOURCE = Source\("PACKAGE_events", "NAME", "Event", Event, EventGenerator, ',
    ),
    "a producer that raises": (
        ("producer.py", "randrange(self._users)", "randrange(self._user)"),
        r"PACKAGE/producer.py, line 27, in next_event: AttributeError: .* did you mean '_users'\?",
    ),
    "a producer that its contract refuses": (
        ("producer.py", 'f"{self._run}-{self._number}"', "self._number"),
        r"an event of the producer of PACKAGE_events: Event.event_id: int 1 is not one of null \| string",
    ),
    "a rule that refuses everything": (
        ("logic.py", "if not event.kind", "if event.kind"),
        r"NAME refuses every one of its producers' first 100 records, the first one because 'kind is empty: .*'",
    ),
}


@pytest.mark.parametrize(("change", "report"), MISTAKES.values(), ids=list(MISTAKES))
def test_check_reports_each_error_and_its_place(
    project: Project, change: tuple[str, str, str], report: str, capsys: pytest.CaptureFixture[str]
) -> None:
    project.change(*change)
    assert run(["check", project.name]) == 1
    *_, last = capsys.readouterr().err.splitlines()
    assert re.search(project.fill_names(report), last), last
    assert last.startswith("error: ")


def test_the_line_of_the_file_is_shown_above(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.change("logic.py", "or _NEW", "or _NEV")
    run(["check", project.name])
    shown = capsys.readouterr().err.splitlines()[:2]
    assert shown == [
        f"{project.package}/logic.py, line 29, in process:",
        "    total = self.totals.get(ctx.key) or _NEV",
    ]


@pytest.mark.parametrize("command", ["run", "demo"])
def test_a_start_reports_it_before_it_waits_for_anything(
    project: Project, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    project.change("logic.py", "or _NEW", "or _NEV")
    assert run([command, project.name, *(NOWHERE if command == "run" else ())]) == 1
    assert "logic.py, line 29, in process: NameError" in capsys.readouterr().err
    assert not (project.folder / ".forebay").exists()


def test_a_passing_check_reports_what_was_tried(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", project.name, "--set", "least_amount=50"]) == 0
    said = capsys.readouterr().out
    assert re.fullmatch(rf"{project.name}: fine: 100 records of {project.package}_events in, \d\d out\n", said)


def test_a_service_that_nothing_produces_for_is_loaded(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.change("service.py", '    producers=("PACKAGE.producer",),\n', "")
    assert run(["check", project.name]) == 0
    assert f"loads; no producer writes {project.package}_events, so its logic was not run" in capsys.readouterr().out


def test_a_resource_of_the_logic_may_be_unavailable(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.change(
        "logic.py",
        "        total = self.totals.get",
        '        raise Unavailable("prices are away")\n        total =  self.totals.get',
    )
    project.change(
        "logic.py",
        "from forebay.processor import",
        "from forebay.codec import Unavailable\nfrom forebay.processor import",
    )
    assert run(["check", project.name]) == 0
    assert "loads; its logic was not run: prices are away" in capsys.readouterr().out


def test_trying_records_registers_nothing(project: Project) -> None:
    registry = LocalSubjects()
    connect(registry)
    project.change(
        "logic.py",
        "        total = self.totals.get",
        "        connected_subjects().register('totals-value', Schema('\"string\"'))\n        total =  self.totals.get",
    )
    project.change(
        "logic.py",
        "from forebay.processor import",
        "from forebay.serde.schema import Schema\nfrom forebay.serde.subjects import connected_subjects\n"
        "from forebay.processor import",
    )
    assert run(["check", project.name]) == 0
    assert registry.newest("totals-value") is None


def test_a_wrong_setting_is_a_wrong_command_line(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", project.name, "--set", "least_amount=-1"]) == 2
    assert "least_amount is -1.0: use 0 or more" in capsys.readouterr().err


def test_every_service_of_the_table_is_fine(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 10
    assert all(": fine: 100 records of " in line and "rejected" not in line for line in lines)
