"""The branches of a stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from forebay.builder import stateless
from forebay.builder.keys import on_keys
from forebay.builder.nodes import TopologyError

if TYPE_CHECKING:
    from forebay.builder.stream import Stream

K = TypeVar("K")
V = TypeVar("V")


class Split(Generic[K, V]):
    """The branches of a stream, in the order in which their predicates are tried."""

    def __init__(self, stream: Stream[K, V]) -> None:
        self._stream = stream
        self._branches: list[tuple[str, Callable[..., bool]]] = []

    def branch(self, name: str, takes: Callable[[K, V], bool]) -> Split[K, V]:
        """Add a branch for the records that `takes` accepts and no earlier branch did.

        Args:
            name: Name of the branch, unique in the split.
            takes: Predicate of key and value.

        Raises:
            TopologyError: Another branch has this name.
        """
        if any(name == other for other, _ in self._branches):
            raise TopologyError(f"branch {name}: two branches have this name: choose different names")
        self._branches.append((name, on_keys(self._stream.node.key, takes)))
        return self

    def default_branch(self, name: str) -> dict[str, Stream[K, V]]:
        """Return the branches by name, including a default branch for the records that no other branch accepts."""
        return self._split([*self._branches, (name, None)])

    def no_default_branch(self) -> dict[str, Stream[K, V]]:
        """Return the branches by name. Records that no branch accepts are dropped."""
        return self._split(self._branches)

    def _split(self, branches: Sequence[tuple[str, Callable[..., bool] | None]]) -> dict[str, Stream[K, V]]:
        from forebay.builder.stream import Stream  # noqa: PLC0415 (a stream makes its branches, and they are streams)

        stream = self._stream
        streams: dict[str, Stream[K, V]] = {}
        for number, (name, _) in enumerate(branches):
            before = [takes for _, takes in branches[:number] if takes is not None]
            node = stateless.branch(stream.node, name, before, branches[number][1])
            streams[name] = Stream(stream.graph, stream.graph.add(node), stream.is_rekeyed)
        return streams
