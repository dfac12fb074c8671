"""A check for vague names: functions that are participles, and variables such as `found`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

FUNCTION = "a verb, or the noun that it returns: `bind_stores`, `aggregate_node`"
VARIABLE = "a noun: `position`, `offsets`, `result`"
_PARTICIPLE = re.compile(
    r"_?(?!(feed|need|seed|speed|exceed|embed|proceed|succeed)$)"
    r"([a-z]+ed|[a-z]*(told|held|kept|made|found|said|shown|given|taken|done))"
)
_OF_KAFKA = frozenset({"committed", "materialized"})
"""Kafka's own names: `Consumer.committed`, which fakes of the client implement, and `Materialized`."""
_VAGUE = frozenset({"found", "made", "each", "kept"})


def vague_names(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str, str]]:
    """Yield line, name and suggestion of each function that is a participle and of each vague variable."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            is_named_by_kafka = node.name in _OF_KAFKA
            if _PARTICIPLE.fullmatch(node.name) and not is_named_by_kafka and not _is_property(node):
                yield node.lineno, f"def {node.name}", FUNCTION
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in _VAGUE:
            yield node.lineno, node.id, VARIABLE


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
