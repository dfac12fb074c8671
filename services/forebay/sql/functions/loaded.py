"""All functions, declared."""

from __future__ import annotations

from forebay.sql.functions import (
    choices,
    collections,
    documents,
    encodings,
    lambdas,
    masks,
    numbers,
    regexes,
    texts,
    times,
    urls,
)
from forebay.sql.functions.registry import Registry

REGISTRY = Registry()
MODULES = (choices, collections, documents, encodings, lambdas, masks, numbers, regexes, texts, times, urls)
