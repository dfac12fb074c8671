"""A topology as a notebook shows it: the picture that `forebay topology` prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forebay.builder.graph import Graph
from forebay.builder.nodes import TopologyError
from forebay.builder.picture import Picture, picture_of
from forebay.builder.render import as_mermaid, as_text
from forebay.catalog import Service

NAME = "topology"
_NOT_YET = "a topology that"
MERMAID = "text/vnd.mermaid"
"""What JupyterLab (4.1 and later) and Notebook 7 draw by themselves."""


@dataclass(frozen=True, slots=True)
class NoSettings:
    """Settings of a topology that is given as it is: it has none."""


def picture_without_service(topology: Any) -> Picture:
    """Return the picture of a topology that is given as it is."""
    from forebay.builder.topology_job import job  # noqa: PLC0415 (a topology is one that is shown)

    new_job = job(NoSettings, lambda _: topology, may_end=True)
    return picture_of(Service(NAME, "not run yet", (), (), {}, ""), new_job)


class Shown:
    """What is shown by its graph."""

    graph: Graph

    def __str__(self) -> str:
        """Return what `forebay topology` prints, or why the topology can't run yet."""
        if not self.graph.nodes:
            return f"{_NOT_YET} reads no topic yet"
        try:
            return as_text(picture_without_service(self))
        except TopologyError as error:
            return f"{_NOT_YET} can't run yet: {error}"

    def _repr_mimebundle_(self, **_wanted: object) -> dict[str, str]:
        """Return the forms of the picture by MIME type (IPython's protocol)."""
        text = str(self)
        if text.startswith(_NOT_YET):
            return {"text/plain": text}
        return {"text/plain": text, MERMAID: as_mermaid(picture_without_service(self))}
