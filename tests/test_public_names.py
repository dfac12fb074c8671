"""`forebay` exports the names that programs usually need. Topologies can be printed, and outputs read by type."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import forebay
from forebay import Fold, Record, TestDriver, Topology, Windowed, json_of, tumbling
from forebay.builder.notebook_view import picture_without_service
from forebay.builder.render import as_text


class View(Record):
    """A view of a page."""

    page: str


EXPECTED = (
    "Topology Fold Windowed json_of TestDriver tumbling hopping within SessionWindows SlidingWindows Emission "
    "Processor Record Context KeyValueStore WindowStore UntilWindowCloses UntilTimeLimit Job Service Topic TEXT INT "
    "Materialized run"
)


@pytest.mark.parametrize("name", sorted({*forebay.__all__, *EXPECTED.split()}))
def test_a_public_name_is_what_its_module_defines(name: str) -> None:
    assert name in forebay.__all__
    assert name in dir(forebay)
    value = getattr(forebay, name)
    if name in forebay._MODULES:
        assert value is getattr(import_module(forebay._MODULES[name]), name)


def test_no_public_name_is_that_of_a_module() -> None:
    """If both existed, `from forebay import name` would return the module after anything has imported it."""
    for name in forebay._MODULES:
        with pytest.raises(ModuleNotFoundError):
            import_module(f"forebay.{name}")


def test_an_unknown_name_is_refused_as_python_does() -> None:
    with pytest.raises(AttributeError, match="module 'forebay' has no attribute 'Topolgy'"):
        _ = forebay.Topolgy  # type: ignore[attr-defined]


def test_the_version_alone_imports_nothing_else() -> None:
    code = "import sys, forebay; print(forebay.__version__, [m for m in sys.modules if m.startswith('forebay.')])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.split()[1:] == ["[]"]


def counting() -> Topology:
    topology = Topology()
    views = topology.stream("views", json_of(View))
    pages = views.group_by(lambda _, view: view.page, str)
    pages.count(store="pages").to_stream().to("page-counts")
    total: Fold[View, int] = Fold(lambda: 0, lambda _key, _view, count: count + 1)
    windowed = views.group_by_key().windowed_by(tumbling(10)).aggregate(total, int, store="windows")
    windowed.to_stream().to("window-counts")
    return topology


def test_a_topology_prints_what_the_command_prints() -> None:
    topology = counting()
    assert str(topology) == as_text(picture_without_service(topology))
    for part in ("reads views", "stores: pages", "sends int to page-counts", "window-counts"):
        assert part in str(topology)


def test_a_topology_that_cannot_run_yet_prints_why() -> None:
    assert str(Topology()) == "a topology that reads no topic yet"


def test_outputs_are_read_by_topic_in_order() -> None:
    driver = TestDriver(counting())
    pages, windows = driver.output("page-counts", int), driver.output("window-counts", int)
    assert pages.is_empty
    for at, page in ((1, "a"), (2, "b"), (3, "a")):
        driver.pipe("k", View(page), timestamp=at)
    first = pages.read()
    assert (first.key, first.value, first.timestamp, first.topic) == ("a", 1, 1, "page-counts")
    assert pages.read_rows() == {"a": 2, "b": 1}
    assert pages.is_empty
    assert windows.read_values() == [1, 2, 3]
    window = Windowed("k", forebay.Window(0, 10))
    assert [record.key for record in driver.output("window-counts").read_all()] == [window] * 3
    driver.pipe("k", View("b"), timestamp=4)
    assert (pages.read_values(), windows.read_rows()) == ([2], {window: 4})
    with pytest.raises(LookupError, match="the topic page-counts has no more records"):
        pages.read()


def test_a_deleted_row_is_no_row() -> None:
    topology = Topology()
    topology.table("rows", str, store="rows").to_stream().to("out")
    driver = TestDriver(topology)
    for key, value in (("a", "1"), ("b", "2"), ("a", None)):
        driver.pipe(key, value)
    assert driver.output("out", str).read_rows() == {"b": "2"}
    assert driver.output("out", str).read_values() == ["1", "2", None]


def test_another_topic_or_class_is_refused() -> None:
    driver = TestDriver(counting())
    with pytest.raises(KeyError, match="writes no topic 'pages': choose from page-counts, window-counts"):
        driver.output("pages")
    driver.pipe("k", View("a"))
    with pytest.raises(TypeError, match=r"page-counts has the value 1 of type int at key 'a', not str"):
        driver.output("page-counts", str).read()
