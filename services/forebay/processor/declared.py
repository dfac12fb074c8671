"""A processor's stores: those it declares, bound to a task's table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forebay.processor.api import AnyProcessor
from forebay.processor.codecs import Codecs
from forebay.stores.binding import Store, TaskStores


def declared_stores(processor: object) -> Iterator[tuple[str, Store[Any]]]:
    """Yield (attribute, declaration) of every store of a processor, or of its class, in order of declaration."""
    kind = processor if isinstance(processor, type) else type(processor)
    found: dict[str, Store[Any]] = {}
    for holder in (*reversed(kind.__mro__), *(() if isinstance(processor, type) else (processor,))):
        found.update((name, declared) for name, declared in vars(holder).items() if isinstance(declared, Store))
    names: set[str] = set()
    for attribute, declared in found.items():
        if declared.name in names:
            raise ValueError(
                f"{kind.__name__} declares the store {declared.name!r} twice: give each store its own name"
            )
        names.add(declared.name)
        yield attribute, declared


def missing_methods(make: object) -> str:
    """Return what a class has to define before it can be made; "" for nothing, and for what is no class."""
    return ", ".join(f"{name}()" for name in sorted(getattr(make, "__abstractmethods__", ())))


def bind_stores(processor: AnyProcessor, codecs: Codecs, lent: TaskStores) -> list[Store[Any]]:
    """Give a processor its stores in the place of what it declares, and return them."""
    bound = {
        attribute: declared.bind(lent, codecs.stores[declared.name])
        for attribute, declared in declared_stores(processor)
    }
    for attribute, store in bound.items():
        setattr(processor, attribute, store)
    return list(bound.values())
