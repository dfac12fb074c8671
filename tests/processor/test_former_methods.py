"""If a class defines a method under its name of release 0.2, it is still called, and a warning names the new name."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from forebay.builder import ValueTransformer
from forebay.processor import Processor


@pytest.mark.parametrize("base", [Processor, ValueTransformer])
@pytest.mark.parametrize(("former", "name"), [("opened", "init"), ("removed", "on_delete")])
def test_a_method_with_its_former_name_is_called(base: type, former: str, name: str) -> None:
    with pytest.warns(FutureWarning, match=rf"Totals\.{former}\(\) was renamed in Forebay 0\.3: call it {name}\(\)"):
        totals: Any = type("Totals", (base,), {former: lambda _: "called"})
    assert getattr(totals, name)(None) == "called"


def test_a_class_with_both_names_is_not_changed() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        totals: Any = type("Totals", (Processor,), {"opened": lambda _: "own", "init": lambda _: "init"})
    assert totals.init(None) == "init"
