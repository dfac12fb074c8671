"""All functions, declared."""

from __future__ import annotations

from forebay.sql.functions import collections, numbers, texts
from forebay.sql.functions.registry import Registry

REGISTRY = Registry()
MODULES = (collections, numbers, texts)
