"""Structs as XML and CSV texts."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from forebay.ksml.values import WrongType, text_of

_ROOT = "data"


def to_xml(value: Any, root: str = "") -> str:
    """Return the XML element of a struct: a child for each field, several for a list. Raises WrongType."""
    if not isinstance(value, dict):
        raise WrongType(f"{value!r} is {type(value).__name__}, not a struct that can be XML")
    element = ElementTree.Element(root or _ROOT)
    _fill(element, value)
    return ElementTree.tostring(element, encoding="unicode")


def _fill(element: ElementTree.Element, value: Any) -> None:
    if isinstance(value, dict):
        for name, content in value.items():
            for one in content if isinstance(content, list) else [content]:
                if one is not None:
                    _fill(ElementTree.SubElement(element, name), one)
    else:
        element.text = text_of(value)


def of_xml(text: str) -> Any:
    """Return the struct of an XML element: a field for each child, a list for several of a name. Raises WrongType."""
    try:
        return _struct(ElementTree.fromstring(text))
    except ElementTree.ParseError as error:
        raise WrongType(f"{text[:80]!r} is not XML: {error}") from error


def _struct(element: ElementTree.Element) -> Any:
    if not len(element) and not element.attrib:
        return element.text
    fields: dict[str, Any] = dict(element.attrib)
    for child in element:
        name, value = child.tag, _struct(child)
        if name not in fields:
            fields[name] = value
        elif isinstance(fields[name], list):
            fields[name].append(value)
        else:
            fields[name] = [fields[name], value]
    return fields


def to_csv(value: Any, columns: Sequence[str]) -> str:
    """Return the CSV line of a struct's columns, or of a list. Raises WrongType."""
    if isinstance(value, dict):
        value = [value.get(name) for name in columns or value]
    if not isinstance(value, list | tuple):
        raise WrongType(f"{value!r} is {type(value).__name__}, neither a struct nor a list that can be CSV")
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(["" if item is None else text_of(item) for item in value])
    return line.getvalue()


def of_csv(text: str, columns: Sequence[str]) -> Any:
    """Return the struct of a CSV line, or a list if there are no columns. Raises WrongType."""
    cells: list[str] = next(csv.reader([text]), [])
    if not columns:
        return cells
    if len(cells) != len(columns):
        raise WrongType(f"{len(cells)} values are in a line of {len(columns)} columns: {', '.join(columns)}")
    return dict(zip(columns, cells, strict=True))
