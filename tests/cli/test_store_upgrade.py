"""`forebay store upgrade` rejects invalid arguments before it connects to a broker."""

import pytest

from forebay.catalog import all_services
from forebay.cli.main import run

SERVICES = all_services()

NOWHERE = ("--bootstrap-servers", "127.0.0.1:9", "--schema-registry-url", "http://127.0.0.1:9")


@pytest.mark.parametrize("mode", [[], ["--dry-run"]], ids=["converting", "dry run"])
def test_an_unknown_service_is_refused(mode: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["store", "upgrade", "nonsense", *mode, *NOWHERE]) == 2
    assert f"there is no service 'nonsense': choose one of {', '.join(SERVICES)}" in capsys.readouterr().err


@pytest.mark.parametrize("mode", [[], ["--dry-run"]], ids=["converting", "dry run"])
def test_an_unknown_setting_is_refused(mode: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["store", "upgrade", "price-join", "--set", "nonsense=1", *mode, *NOWHERE]) == 2
    assert "price-join has no setting 'nonsense'" in capsys.readouterr().err


def test_it_ends_by_itself_and_takes_no_trigger(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["store", "upgrade", "price-join", "--trigger", "continuous", *NOWHERE]) == 2
    assert "--trigger" in capsys.readouterr().err
