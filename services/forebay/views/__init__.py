"""Materialized views: SQL files that become the topology of a job (docs/views.md)."""

from forebay.views.files import load_views
from forebay.views.model import Source, View, ViewError
from forebay.views.topology import views_job, views_topology

__all__ = ["Source", "View", "ViewError", "load_views", "views_job", "views_topology"]
