"""JSON Schemas without the parts that affect neither the valid values nor their bytes: texts and orders."""

from __future__ import annotations

import json
from typing import Any

_WORDING = frozenset(("$comment", "default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"))
_SCHEMAS_BY_NAME = frozenset(
    ("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")
)
_SCHEMAS = frozenset(
    (
        "additionalItems", "additionalProperties", "allOf", "anyOf", "contains", "else", "if", "items", "not", "oneOf",
        "prefixItems", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
    )
)  # fmt: skip
_SETS = frozenset(("enum", "required", "type"))
"""Keywords whose lists may be in any order."""


def without_wording(schema: Any) -> Any:
    """Return a schema, or a list of schemas, without texts that are only for its readers.

    The members of its objects may be in any order. Values such as those of `const` stay unchanged.
    """
    if isinstance(schema, list):
        return [without_wording(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {word: _without_wording_of(word, value) for word, value in schema.items() if word not in _WORDING}


def _without_wording_of(word: str, value: Any) -> Any:
    if word in _SCHEMAS:
        return without_wording(value)
    if word in _SCHEMAS_BY_NAME and isinstance(value, dict):
        return {name: without_wording(inner) for name, inner in value.items()}
    if word in _SETS and isinstance(value, list):
        return sorted(value, key=lambda item: json.dumps(item, sort_keys=True))
    return value
