"""Records as the replay has them."""

import dataclasses
from typing import Any


def plain(record: Any) -> Any:
    """Give dicts and lists in place of dataclasses and tuples."""
    if dataclasses.is_dataclass(record):
        return {field.name: plain(getattr(record, field.name)) for field in dataclasses.fields(record)}
    if isinstance(record, tuple):
        return [plain(item) for item in record]
    return record
