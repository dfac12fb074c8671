"""Other packages add services through an environment variable or an entry point. Unusable ones are reported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forebay.catalog import UnknownService, all_services, find_service
from forebay.producing.sources import all_sources, source_of, sources_for
from forebay.serde import ContractMissing, list_contracts, load_contract
from forebay.service import plugins
from forebay.service.plugins import CHECKOUT, GROUP, OWN, PRODUCERS, VARIABLE, Named, PluginError, yield_modules

SERVICES = all_services()

Write = Callable[..., str]

ENTRY = """
from forebay.catalog import Service, Topic
SERVICE = Service("{name}", "counts", (Topic("{package}_in", "Seen"),), (Topic("{package}_out", "Seen"),), {{}},
    "{package}.job", producers=({producers}))
"""
SOURCE = """
from forebay.producing.base import Source
SOURCE = Source("{topic}", "{package}", "Seen", object, lambda options: None, "name")
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Yield a function that writes an importable package with a module, and returns the module's name."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    before = set(sys.modules)

    def write_module(package: str, module: str, text: str) -> str:
        folder = tmp_path / package
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").touch()
        (folder / f"{module}.py").write_text(text)
        return f"{package}.{module}"

    yield write_module
    for name in set(sys.modules) - before:
        del sys.modules[name]


def entry(package: str, name: str = "", producers: str = "") -> str:
    return ENTRY.format(package=package, name=name or package, producers=producers)


def test_a_named_module_brings_its_service(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write("plug_a", "service", entry("plug_a"))
    with pytest.raises(UnknownService, match=r"choose one of device-alerts, .*, user-sessions"):
        find_service("plug_a")
    monkeypatch.setenv(VARIABLE, "plug_a.service")
    assert find_service("plug_a").job == "plug_a.job"
    assert list(all_services()) == [*SERVICES, "plug_a"]


def test_several_modules(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [write(package, "service", entry(package)) for package in ("plug_b", "plug_c")]
    monkeypatch.setenv(VARIABLE, f" {names[1]} , {names[0]},,{names[1]}")
    assert list(all_services())[-2:] == ["plug_c", "plug_b"]


def test_a_module_that_is_installed_and_named_counts_once(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    module = write("plug_d", "service", entry("plug_d"))
    point = Named("plug_d", module, "the entry point plug_d of plug-d")
    monkeypatch.setattr(plugins, "_installed_modules", lambda group: (point,) if group == GROUP else ())
    monkeypatch.setenv(VARIABLE, module)
    assert list(all_services()) == ["plug_d", *SERVICES]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"plug_e.service \(named by FOREBAY_SERVICES\) has no SERVICE: write `SERVICE = Service\(name="),
        ("SERVICE = 1", r"SERVICE of plug_e.service .* is not a forebay.catalog.Service"),
        (
            "import nothing_there",
            r"plug_e/service.py, line 1: ModuleNotFoundError: No module named .nothing_there.: install its package",
        ),
        (entry("plug_e", "user-sessions"), "defines a second service named 'user-sessions': give it another name"),
    ],
)
def test_an_unusable_plugin_is_reported(write: Write, monkeypatch: pytest.MonkeyPatch, text: str, message: str) -> None:
    monkeypatch.setenv(VARIABLE, write("plug_e", "service", text))
    with pytest.raises(PluginError, match=message):
        all_services()
    assert find_service("user-sessions") is SERVICES["user-sessions"]


def test_its_contracts_are_in_its_package(write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, write("plug_f", "service", entry("plug_f")))
    (tmp_path / "plug_f" / "avro").mkdir()
    (tmp_path / "plug_f" / "avro" / "Seen.avsc").write_text('{"type": "record", "name": "Seen", "fields": []}')
    assert list_contracts("plug_f") == ("Seen",)
    assert load_contract("plug_f", "Seen").name == "Seen"
    with pytest.raises(ContractMissing, match=r"plug_f/avro/Sen\.avsc: plug_f has Seen; did you mean Seen\?"):
        load_contract("plug_f", "Sen")


def test_its_producers_are_known(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    module = write("plug_g", "producer", SOURCE.format(package="plug_g", topic="plug_g_in"))
    monkeypatch.setenv(VARIABLE, write("plug_g", "service", entry("plug_g", producers=f"{module!r},")))
    assert source_of("plug_g_in").service == "plug_g"


def test_its_own_producers_are_found_without_the_other_services(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    module = write("plug_i", "producer", SOURCE.format(package="plug_i", topic="plug_i_in"))
    monkeypatch.setenv(VARIABLE, write("plug_i", "service", entry("plug_i", producers=f"{module!r},")))
    monkeypatch.setattr("forebay.producing.sources.all_services", lambda: pytest.fail("all services were imported"))
    assert sources_for(find_service("plug_i"))["plug_i_in"].service == "plug_i"
    assert list(sources_for(SERVICES["price-join"])) == [topic.name for topic in SERVICES["price-join"].inputs]


def test_a_topic_s_producer_may_be_named_by_another_service(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    module = write("plug_j", "producer", SOURCE.format(package="plug_j", topic="plug_j_in"))
    makes = write("plug_j", "service", entry("plug_j", producers=f"{module!r},"))
    reads = write("plug_k", "service", entry("plug_k").replace("plug_k_in", "plug_j_in"))
    monkeypatch.setenv(VARIABLE, f"{makes},{reads}")
    assert sources_for(find_service("plug_k"))["plug_j_in"].service == "plug_j"


def test_another_service_s_records_are_not_of_a_format_of_one_s_own(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = write("plug_l", "producer", SOURCE.format(package="plug_l", topic="plug_l_in"))
    makes = write("plug_l", "service", entry("plug_l", producers=f"{module!r},"))
    own_format = entry("plug_m").replace('"plug_m_in", "Seen"', '"plug_l_in", ""')
    monkeypatch.setenv(VARIABLE, f"{makes},{write('plug_m', 'service', own_format)}")
    assert sources_for(find_service("plug_m")) == {}


def test_a_producer_of_another_topic_is_reported(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    module = write("plug_h", "producer", SOURCE.format(package="plug_h", topic="elsewhere"))
    monkeypatch.setenv(VARIABLE, write("plug_h", "service", entry("plug_h", producers=f"{module!r},")))
    with pytest.raises(
        PluginError, match=r"plug_h.producer generates events for elsewhere, which plug_h does not read"
    ):
        all_sources()


def test_a_checkout_brings_its_services_without_an_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "_installed_modules", lambda group: ())
    monkeypatch.delenv(VARIABLE, raising=False)
    assert [point.name for point in yield_modules(GROUP)] == sorted(SERVICES)
    assert {point.name for point in yield_modules(PRODUCERS)} == all_sources().keys()


def test_a_pyproject_that_is_not_the_checkout_s_brings_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = (CHECKOUT / "pyproject.toml").read_text()
    (tmp_path / "pyproject.toml").write_text(text.replace(f'name = "{OWN}"', 'name = "elsewhere"', 1))
    monkeypatch.setattr(plugins, "_installed_modules", lambda group: ())
    monkeypatch.setattr(plugins, "CHECKOUT", tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    assert list(yield_modules(GROUP)) == []
    with pytest.raises(UnknownService, match="no package brings one: `pip install forebay-services`"):
        find_service("user-sessions")


def test_a_service_is_found_without_importing_the_others(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    point = Named("plug_i", write("plug_i", "service", "import nothing_there"), "a test")
    monkeypatch.setattr(plugins, "_installed_modules", lambda group: (point,) if group == GROUP else ())
    assert find_service("user-sessions").job == "user_sessions.job"
    with pytest.raises(PluginError, match="nothing_there"):
        find_service("plug_i")


def test_a_producer_s_entry_point_is_named_as_its_topic(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    module = write("plug_j", "producer", SOURCE.format(package="plug_j", topic="plug_j_in"))
    point = Named("wrong", module, "the entry point wrong of plug-j")
    monkeypatch.setattr(plugins, "_installed_modules", lambda group: (point,) if group == PRODUCERS else ())
    assert source_of("user_activity").service == "user-sessions"
    with pytest.raises(PluginError, match="generates events for plug_j_in: name the entry point plug_j_in"):
        source_of("wrong")
