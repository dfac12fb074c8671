"""The stores that a processor declares, and their binding to a task's table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forebay.processor.api import AnyProcessor
from forebay.processor.codecs import Codecs
from forebay.stores.binding import Store, TaskStores


def declared_stores(processor: object) -> Iterator[tuple[str, Store[Any]]]:
    """Yield (attribute, store) of each store that a processor or its class declares, in order of declaration.

    Raises:
        ValueError: Two stores have the same name.
    """
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
    """Return the abstract methods that a class does not define, such as "process()"; "" if there are none."""
    return ", ".join(f"{name}()" for name in sorted(getattr(make, "__abstractmethods__", ())))


class NoNewInstance(ValueError):
    """A function or class does not create a new processor in each call. The message says what to write."""


def new_instance(make: Any, wanted: type[Any], *arguments: object) -> Any:
    """Return the result of `make` for the arguments.

    As Kafka Streams does with its suppliers, it calls the function twice and compares the results. Each task binds its
    stores to its instance, so a shared instance would write to another task's stores.

    Raises:
        NoNewInstance: The result is no instance of `wanted`, or the same object in each call.
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
    """Replace the declarations of a processor by stores that are bound to its task, and return the stores."""
    bound = {
        attribute: declared.bind(lent, codecs.stores[declared.name])
        for attribute, declared in declared_stores(processor)
    }
    for attribute, store in bound.items():
        setattr(processor, attribute, store)
    return list(bound.values())
