"""The notebook representation of a topology, which has the text of `forebay topology`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forebay.builder.description import Picture, picture_of
from forebay.builder.graph import Graph
from forebay.builder.nodes import TopologyError
from forebay.builder.render import as_mermaid, as_text
from forebay.catalog import Service

NAME = "topology"
_NOT_YET = "a topology that"
MERMAID = "text/vnd.mermaid"
"""MIME type that JupyterLab (4.1 and later) and Notebook 7 render."""


@dataclass(frozen=True, slots=True)
class NoSettings:
    """The empty settings of a topology that was built without settings."""


def picture_without_service(topology: Any) -> Picture:
    """Return the description of a topology that does not belong to a service."""
    from forebay.builder.topology_job import job  # noqa: PLC0415 (a topology is one that is shown)

    new_job = job(NoSettings, lambda _: topology, may_end=True)
    return picture_of(Service(NAME, "not run yet", (), (), {}, ""), new_job)


class Shown:
    """An object that is displayed as the description of its graph."""

    graph: Graph

    def __str__(self) -> str:
        """Return the text that `forebay topology` prints, or the reason why the topology can't run yet."""
        if not self.graph.nodes:
            return f"{_NOT_YET} reads no topic yet"
        try:
            return as_text(picture_without_service(self))
        except TopologyError as error:
            return f"{_NOT_YET} can't run yet: {error}"

    def _repr_mimebundle_(self, **_wanted: object) -> dict[str, str]:
        """Return the representations by MIME type (IPython's protocol)."""
        text = str(self)
        if text.startswith(_NOT_YET):
            return {"text/plain": text}
        return {"text/plain": text, MERMAID: as_mermaid(picture_without_service(self))}
