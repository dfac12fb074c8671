"""A topology as a notebook shows it: the picture that `forebay topology` prints."""

from __future__ import annotations

from forebay.builder.picture import picture_of
from forebay.builder.render import as_mermaid, as_text
from forebay.catalog import Service
from forebay.job import Job

NAME = "topology"
MERMAID = "text/vnd.mermaid"
"""What JupyterLab (4.1 and later) and Notebook 7 draw by themselves."""


def mime_bundle(job: Job | None) -> dict[str, str]:
    """Return the forms of a topology's picture by MIME type; of one that reads nothing yet (None) a line says so."""
    if job is None:
        return {"text/plain": "a topology that reads no topic yet"}
    picture = picture_of(Service(NAME, "not run yet", (), (), {}, ""), job)
    return {"text/plain": as_text(picture), MERMAID: as_mermaid(picture)}
