"""The code of docs/notebook.md works up to the first step that needs a broker (integration tests run all of it)."""

from __future__ import annotations

from typing import Any

from forebay.builder import Topology
from tests.docs.notebook import blocks

LOCAL = ("A topology, drawn", "Try it without a broker")


def test_the_blocks_that_need_no_broker_run() -> None:
    names: dict[str, Any] = {"__name__": "notebook"}
    local = [code for heading, code in blocks() if heading in LOCAL]
    assert len(local) == 2
    for code in local:
        exec(compile(code, "docs/notebook.md", "exec", dont_inherit=True), names)
    bundle = names["topology"]._repr_mimebundle_(include=None, exclude=None)
    assert bundle.keys() == {"text/plain", "text/vnd.mermaid"}
    assert "store counts (int): timestamped key-value" in bundle["text/plain"]
    assert bundle["text/vnd.mermaid"].startswith("flowchart LR\n")


def test_a_topology_without_streams_says_so() -> None:
    assert Topology()._repr_mimebundle_() == {"text/plain": "a topology that reads no topic yet"}
