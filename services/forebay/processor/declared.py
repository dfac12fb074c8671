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
    stores: dict[str, Store[Any]] = {}
    for holder in (*reversed(kind.__mro__), *(() if isinstance(processor, type) else (processor,))):
        stores.update((name, declared) for name, declared in vars(holder).items() if isinstance(declared, Store))
    names: set[str] = set()
    for attribute, declared in stores.items():
        if declared.name in names:
            raise ValueError(
                f"{kind.__name__} declares the store {declared.name!r} twice: give each store its own name"
            )
        names.add(declared.name)
        yield attribute, declared


def missing_methods(make: object) -> str:
    """Return what a class has to define before it can be made; "" for nothing, and for what is not a class."""
    return ", ".join(f"{name}()" for name in sorted(getattr(make, "__abstractmethods__", ())))


class NoNewInstance(ValueError):
    """A function or class does not make a new processor in each call; the message says what to write."""


def new_instance(make: Any, wanted: type[Any], *arguments: object) -> Any:
    """Return what `make` makes of the arguments. Raises NoNewInstance: it is no `wanted`, or the same in each call.

    A function is called twice to compare the results, as Kafka Streams does with its suppliers: each task binds its own
    stores to its instance, so a shared instance would write into another task's stores.
    """
    kind, name = type(make).__name__, wanted.__name__
    if isinstance(make, wanted):
        raise NoNewInstance(
            f"one {kind} can't serve all tasks: to create one for each task, pass the class {kind} or a function"
        )
    missing = missing_methods(make)
    if missing:
        raise NoNewInstance(f"{make.__name__} of {make.__module__} lacks {missing}: define it there")
    instance = make(*arguments) if callable(make) else make
    if not isinstance(instance, wanted):
        raise NoNewInstance(
            f"{instance!r:.80} is not a {name}: pass a subclass of {name}, or a function that creates one"
        )
    if make(*arguments) is instance:
        kind = type(instance).__name__
        raise NoNewInstance(
            f"the function returns the same {kind} each time it is called, but each task needs its own: create "
            f"the {kind} inside the function, or pass the class"
        )
    return instance


def bind_stores(processor: AnyProcessor, codecs: Codecs, lent: TaskStores) -> list[Store[Any]]:
    """Give a processor its stores in the place of what it declares, and return them."""
    bound = {
        attribute: declared.bind(lent, codecs.stores[declared.name])
        for attribute, declared in declared_stores(processor)
    }
    for attribute, store in bound.items():
        setattr(processor, attribute, store)
    return list(bound.values())
