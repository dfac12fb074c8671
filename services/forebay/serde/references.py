"""Combination of a schema and the schemas to which it refers in a registry into one text.

A Protobuf schema imports files, and an Avro schema uses types of other schemas. They are combined once when they are
read from a registry, so that decoders, inference of columns and lock files need only one text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_FILE = "// forebay: file "
_TYPES = ("record", "enum", "fixed", "error")


def join_files(text: str, files: Mapping[str, str]) -> str:
    """Return a `.proto` text, followed by the files that it imports."""
    parts = [text]
    for name, content in files.items():
        main, more = split_files(content)
        parts += [f"\n{_FILE}{name}\n{main}", *(f"\n{_FILE}{other}\n{part}" for other, part in more.items())]
    return "".join(parts)


def split_files(text: str) -> tuple[str, dict[str, str]]:
    """Return the `.proto` text itself, and the files after it by name. The first file with a name is used."""
    main, *parts = text.split(f"\n{_FILE}")
    files: dict[str, str] = {}
    for part in parts:
        name, _, content = part.partition("\n")
        files.setdefault(name, content)
    return main, files


def insert_types(text: str, schemas: Mapping[str, str]) -> str:
    """Return an Avro schema with the types of other schemas, each inserted where it is used first.

    Args:
        schemas: Texts of the other schemas by the full names of their types.
    """
    try:
        documents = {name: json.loads(schema) for name, schema in schemas.items()}
        return json.dumps(_insert(json.loads(text), "", documents))
    except (ValueError, TypeError, KeyError, AttributeError):
        return text  # parsing it reports what is wrong


def _insert(document: Any, space: str, missing: dict[str, Any]) -> Any:
    if isinstance(document, str):
        name = document if document in missing else f"{space}.{document}"
        # Insert it only where it is used first, because Avro refuses a second definition of a name.
        return _insert(missing.pop(name), "", missing) if name in missing else document
    if isinstance(document, list):
        return [_insert(part, space, missing) for part in document]
    if not isinstance(document, dict):
        return document
    if document.get("type") in _TYPES:
        given, _, _ = str(document.get("name", "")).rpartition(".")
        space = given or document.get("namespace", space)
    changed = dict(document)
    for name in ("type", "items", "values"):
        if name in document and document[name] not in _TYPES:
            changed[name] = _insert(document[name], space, missing)
    if "fields" in document:
        changed["fields"] = [{**field, "type": _insert(field["type"], space, missing)} for field in document["fields"]]
    return changed
