"""A class that defines a method under its former name is refused, because the engine would never call the method."""

from __future__ import annotations

import pytest

from forebay.builder import ValueTransformer
from forebay.processor import Processor


@pytest.mark.parametrize("base", [Processor, ValueTransformer])
@pytest.mark.parametrize(("former", "name"), [("opened", "init"), ("removed", "on_delete")])
def test_a_former_method_is_refused_with_its_new_name(base: type, former: str, name: str) -> None:
    with pytest.raises(TypeError, match=rf"Totals\.{former}\(\) was renamed in Forebay 0\.3: call it {name}\(\)"):
        type("Totals", (base,), {former: lambda self: None})
