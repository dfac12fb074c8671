"""All functions, declared."""

from __future__ import annotations

from forebay.sql.functions import collections, documents, numbers, texts, times
from forebay.sql.functions.registry import Registry

REGISTRY = Registry()
MODULES = (collections, documents, numbers, texts, times)
