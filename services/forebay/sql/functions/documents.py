"""Functions of texts that hold JSON or URLs."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote_plus, unquote_plus, urlsplit

from forebay.sql.encodings.readers import writer
from forebay.sql.encodings.rows import encode_json
from forebay.sql.functions.registry import function, special
from forebay.sql.generate import Generator, Typed
from forebay.sql.syntax import Call
from forebay.sql.types import BOOLEAN, INT, STRING, ArrayType, MapType

_STEP = re.compile(r"\.([A-Za-z_@$][\w@$-]*)|\[(\d+)\]|\['([^']*)'\]")
_MISSING = object()


def extracted(text: str, path: str) -> str | None:
    """Return the part of a JSON text that a path such as $.a.b[0] names; None: there is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    at = 1
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise ValueError(f"{path!r} is no path: write $.field[0].field")
        at = step.end()
        name = step[1] or step[3]
        try:
            found = found[int(step[2])] if name is None else found[name]
        except (KeyError, IndexError, TypeError):
            return None
    return _text(found)


def _text(found: Any) -> str | None:
    if found is None or isinstance(found, str):
        return found
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return _MISSING


def is_json(text: str | None) -> bool:
    """Tell whether a text is JSON."""
    return bool(text) and _loaded(text or "") is not _MISSING


def keys(text: str) -> tuple[str, ...] | None:
    """Return the fields of a JSON object; None: it is none."""
    found = _loaded(text)
    return tuple(found) if isinstance(found, dict) else None


def records(text: str) -> dict[str, str | None] | None:
    """Return the fields of a JSON object with their values as text; None: it is none."""
    found = _loaded(text)
    return {name: _text(value) for name, value in found.items()} if isinstance(found, dict) else None


def items(text: str) -> tuple[str | None, ...]:
    """Return the items of a JSON array as texts. Raises ValueError: it is none."""
    found = json.loads(text)
    if not isinstance(found, list):
        raise TypeError(f"{text!r} is no array")
    return tuple(json.dumps(each, separators=(",", ":")) for each in found)


def contains(text: str | None, sought: Any) -> bool:
    """Tell whether a JSON array has a value."""
    found = None if text is None else _loaded(text)
    return isinstance(found, list) and any(type(each) is type(sought) and each == sought for each in found)


def length(text: str) -> int | None:
    """Return how many items a JSON array has; None: it is none."""
    found = _loaded(text)
    return len(found) if isinstance(found, list) else None


@special("TO_JSON_STRING", 1, 1)
def _to_json(make: Generator, call: Call) -> Typed:
    value = make.of(call.arguments[0])
    name, write = make.constant(encode_json), make.constant(writer(value.type))
    return Typed(f"{name}({write}({value.source})).decode()", STRING)


def _url(part: str) -> Any:
    def of(text: str) -> Any:
        found = getattr(urlsplit(text), part)
        return found or None

    return of


function("EXTRACTJSONFIELD", "s s", STRING, extracted)
function("IS_JSON_STRING", "s", BOOLEAN, is_json, takes_null=True)
function("JSON_KEYS", "s", ArrayType(STRING), keys)
function("JSON_RECORDS", "s", MapType(STRING, STRING), records)
function("JSON_ITEMS", "s", ArrayType(STRING), items)
function("JSON_ARRAY_CONTAINS", "s *", BOOLEAN, contains, takes_null=True)
function("JSON_ARRAY_LENGTH", "s", INT, length)
function("URL_ENCODE_PARAM", "s", STRING, quote_plus)
function("URL_DECODE_PARAM", "s", STRING, unquote_plus)
for _name, _part in (
    ("FRAGMENT", "fragment"),
    ("HOST", "hostname"),
    ("PATH", "path"),
    ("PROTOCOL", "scheme"),
    ("QUERY", "query"),
):
    function(f"URL_EXTRACT_{_name}", "s", STRING, _url(_part))
function("URL_EXTRACT_PORT", "s", INT, _url("port"))
