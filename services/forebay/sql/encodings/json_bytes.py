"""JSON with the same bytes as Jackson, which ksqlDB uses. Keys with other bytes would be in other partitions."""

from __future__ import annotations

import re
from typing import Any

import msgspec

encode_json = msgspec.json.Encoder(decimal_format="number").encode
"""Encoder of JSON with decimals as numbers and bytes as base64."""
_ESCAPE = re.compile(rb"\\(?:u00[01][0-9a-f]|.)")


def jackson_bytes(value: Any) -> bytes:
    """Return a value as JSON with the same escapes as those of Jackson."""
    data = encode_json(value)
    return _ESCAPE.sub(_in_capitals, data) if b"\\u00" in data else data


def _in_capitals(escape: re.Match[bytes]) -> bytes:
    text = escape[0]
    return text[:2] + text[2:].upper()
