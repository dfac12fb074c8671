"""A topology as a notebook shows it: the picture that `forebay topology` prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forebay.builder.graph import Graph
from forebay.builder.picture import Picture, picture_of
from forebay.builder.render import as_mermaid, as_text
from forebay.catalog import Service

NAME = "topology"
MERMAID = "text/vnd.mermaid"
"""What JupyterLab (4.1 and later) and Notebook 7 draw by themselves."""


@dataclass(frozen=True, slots=True)
class NoSettings:
    """Settings of a topology that is given as it is: it has none."""


def picture_without_service(topology: Any) -> Picture:
    """Return the picture of a topology that is given as it is."""
    from forebay.builder.topology import job  # noqa: PLC0415 (a topology is one that is shown)

    new_job = job(NoSettings, lambda _: topology, may_end=True)
    return picture_of(Service(NAME, "not run yet", (), (), {}, ""), new_job)


class Shown:
    """What is shown by its graph."""

    graph: Graph

    def _repr_mimebundle_(self, **_wanted: object) -> dict[str, str]:
        """Return the forms of the picture by MIME type (IPython's protocol)."""
        if not self.graph.nodes:
            return {"text/plain": "a topology that reads no topic yet"}
        picture = picture_without_service(self)
        return {"text/plain": as_text(picture), MERMAID: as_mermaid(picture)}
