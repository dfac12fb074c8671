"""Reads views from the .sql files of a folder, one view per file."""

from __future__ import annotations

from importlib.resources.abc import Traversable

from forebay.views.model import Source, View, ViewError
from forebay.views.sql import parse_view

_SUFFIX = ".sql"


def load_views(folder: Traversable, source: Source) -> tuple[View, ...]:
    """Return the views of a folder, in the order of file names.

    Raises:
        ViewError: a file is not a view, two views have the same name, or there are none.
    """
    if not folder.is_dir():
        raise ViewError(f"{folder}: the folder does not exist: create it, with a file name{_SUFFIX} for each view")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(_SUFFIX)), key=lambda file: file.name)
    if not files:
        raise ViewError(f"{folder}: the folder has no views: write each view into a file name{_SUFFIX}")
    views = tuple(parse_view(file.read_text(encoding="utf-8"), file.name, source) for file in files)
    known: dict[str, str] = {}
    for view in views:
        if view.store in known:
            raise ViewError(
                f"{view.file}: the view {view.name} is also made by {known[view.store]}: choose different names"
            )
        known[view.store] = view.file
    return views
