"""Functions of a definition, compiled to Python code with its lines in the file."""

from __future__ import annotations

import ast
import keyword
from functools import cache
from types import CodeType
from typing import Any, NamedTuple

from forebay.ksml.document import Node
from forebay.ksml.errors import KsmlError, refusal
from forebay.ksml.kinds import FUNCTIONS
from forebay.ksml.simple import only_looks
from forebay.ksml.types import Type, UnknownType, parse_type


class Parameter(NamedTuple):
    """A parameter in addition to those of the function's kind. Its default is Python code."""

    name: str
    default: str


class Source(NamedTuple):
    """A compiled function of a definition.

    Args:
        file, line: its begin.
        code_line: line of the begin of its code.
        module: its compiled global code; None: it has no global code.
        body: the compiled code that defines it.
        only_looks: whether it does not change its arguments, and ends at once.
    """

    name: str
    kind: str
    file: str
    line: int
    code_line: int
    module: CodeType | None
    body: CodeType
    result: Type
    stores: tuple[str, ...]
    only_looks: bool = False


def read_function(node: Node, name: str, kind: str) -> Source:
    """Return a function of a definition.

    Raises:
        KsmlError: its code does not compile, or its types are invalid.
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        raise node.refuse(f"{name!r} can't be a function's name: write a name of letters, digits and _")
    stores = tuple(entry.text for entry in node.entries("stores"))
    module, code, expression = node.get("globalCode"), node.get("code"), node.get("expression")
    parameters = (*FUNCTIONS[kind].parameters, *())
    custom = tuple(_parameter(entry) for entry in node.entries("parameters"))
    begins = code or expression or node
    return Source(
        name,
        kind,
        node.file,
        node.key_line,
        begins.first_line,
        None if module is None else _module(_text(module), node.file, module.first_line),
        _function(
            name,
            parameters,
            custom,
            stores,
            node.file,
            ("", 0) if code is None else (_text(code), code.first_line),
            ("", 0) if expression is None else (_text(expression), expression.first_line),
            node.key_line,
        ),
        _result(node, kind),
        stores,
        code is None and module is None and expression is not None and _only_looks(expression, parameters),
    )


def _only_looks(expression: Node, parameters: tuple[str, ...]) -> bool:
    return only_looks(ast.parse(f"(\n{_text(expression)}\n)", mode="eval").body, parameters)


def _text(node: Node) -> str:
    """Return a node's Python code, with YAML's booleans as Python's."""
    return str(node.value) if isinstance(node.value, bool) else node.text


def _parameter(node: Node) -> Parameter:
    default = node.get("defaultValue")
    if default is None:
        return Parameter(node.string("name"), "None")
    return Parameter(node.string("name"), repr(default.value))


def _result(node: Node, kind: str) -> Type:
    said = node.get("resultType")
    if said is None:
        return FUNCTIONS[kind].result
    try:
        return parse_type(said.text)
    except UnknownType as error:
        raise said.refuse(str(error)) from error


@cache
def _module(text: str, file: str, line: int) -> CodeType:
    tree = _parse(text, file, line, "globalCode")
    return _compile(tree, file, line)


@cache
def _function(
    name: str,
    parameters: tuple[str, ...],
    custom: tuple[Parameter, ...],
    stores: tuple[str, ...],
    file: str,
    code: tuple[str, int],
    expression: tuple[str, int],
    line: int,
) -> CodeType:
    # Parse code and signature separately. Code that is put into a `def` as text would need indentation, which breaks
    # texts of several lines.
    given = [*parameters, *(f"{member.name}={member.default}" for member in custom)]
    frame = _parse(f"def {name}({', '.join(given)}): pass", file, line, "parameters")
    function: Any = frame.body[0]
    opening = [f"log = __logs__[{name!r}]", *(f"{store} = stores[{store!r}]" for store in stores)]
    body: list[ast.stmt] = []
    for statement in opening:
        body += _parse(statement, file, line, "stores").body
    body += _parse(*_place(code, file), "code").body if code[1] else []
    if expression[1]:
        body.append(_return_statement(*expression, file))
    function.body = body
    return _compile(frame, file, line)


def _place(code: tuple[str, int], file: str) -> tuple[str, str, int]:
    return code[0], file, code[1]


def _return_statement(text: str, line: int, file: str) -> ast.stmt:
    # In brackets, an expression may have several lines without backslashes.
    tree: ast.Module = _parse(f"(\n{text}\n)", file, line - 1, "expression")
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        raise refusal(file, line, "expression is not an expression of Python: write statements under code:")
    return ast.copy_location(ast.Return(tree.body[0].value), tree.body[0])


def _parse(text: str, file: str, line: int, what: str) -> ast.Module:
    try:
        tree = ast.parse(text, file)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _no_python(error, file, line, what) from error
    ast.increment_lineno(tree, line - 1)
    return tree


def _no_python(error: Exception, file: str, line: int, what: str) -> KsmlError:
    at = getattr(error, "lineno", None) or 1
    reason = getattr(error, "msg", None) or str(error)
    shown = "" if what != "expression" else ": an expression is one value, statements belong under code:"
    return refusal(file, line + at - 1, f"{what} is not valid Python: {reason} (its line {at}): correct it{shown}")


def _compile(tree: ast.Module, file: str, line: int) -> CodeType:
    try:
        return compile(ast.fix_missing_locations(tree), file, "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise refusal(file, getattr(error, "lineno", None) or line, f"the code does not compile: {error}") from error
