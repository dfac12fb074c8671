"""Runs KSML's test definitions on the test driver: input records, and assertions about records and stores."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from forebay.codec import DecodeError, EncodeError
from forebay.ksml.build import Build
from forebay.ksml.code import read_function
from forebay.ksml.compile import Definitions, KsmlSettings
from forebay.ksml.convert import converter
from forebay.ksml.document import Node, parse
from forebay.ksml.driver import KsmlDriver
from forebay.ksml.errors import KsmlError, refusal
from forebay.ksml.functions import Functions
from forebay.ksml.mounting import read_all
from forebay.ksml.proxy import Proxy
from forebay.ksml.schemas import OF_SUBJECT, NoRegistry, SchemaFiles
from forebay.ksml.stores import read_type
from forebay.ksml.suite_checks import check_suite
from forebay.ksml.types import ANY, STRING, Type
from forebay.ksml.values import plain, window_struct
from forebay.ksml.watch import Watch
from forebay.processor.api import RejectedRecord
from forebay.testing import RecordFailed

_SUFFIXES = {"avro": ".avsc", "jsonschema": ".json", "protobuf": ".proto"}
_PARTITIONS = 64
"""Partitions of every topic, enough for any partition that a test's partitioner returns."""


class Result(NamedTuple):
    """The result of a test: PASS, FAIL or ERROR, and the reason."""

    suite: str
    test: str
    outcome: str
    reason: str = ""


class Stream(NamedTuple):
    """A topic of a suite."""

    topic: str
    key: Type
    value: Type


class _SuiteRegistry(NoRegistry):
    """A registry with the schemas of a suite's streams."""

    def __init__(self, streams: dict[str, Stream], files: SchemaFiles) -> None:
        super().__init__()
        self._streams = streams.values()
        self._files = files

    def latest(self, subject: str) -> str:
        for stream in self._streams:
            for side, kind in (("key", stream.key), ("value", stream.value)):
                if subject == f"{stream.topic}-{side}" and kind.name and kind.notation in _SUFFIXES:
                    return self._files.text(kind.name, _SUFFIXES[kind.notation])
        return super().latest(subject)


def run_suite(file: Path) -> Iterator[Result]:
    """Run the tests of a file, each with new stores. Raises KsmlError if the file is not a suite."""
    try:
        root = parse(file.read_text(encoding="utf-8"), str(file))
    except OSError as error:
        raise refusal(str(file), 1, f"the file can't be read: {error.strerror}: name one that is there") from error
    check_suite(root)
    streams = _streams(root)
    folders = [_folder(file, root, key) for key in ("schemaDirectory", "moduleDirectory")]
    definition = _relative_to(file, root.string("definition"))
    schemas, modules = ([folder] if folder else [] for folder in folders)
    definitions = read_all(
        [definition], schemas, modules, _SuiteRegistry(streams, SchemaFiles([definition.parent, *schemas]))
    )
    name = root.string("name") or file.stem
    for key, test in root.children("tests").items():
        yield _run(name, test.string("description") or key, test, streams, definitions)


def _run(suite: str, name: str, test: Node, streams: dict[str, Stream], made: Definitions) -> Result:
    try:
        driver = KsmlDriver(made, KsmlSettings(), partitions=_PARTITIONS, raise_errors=True)
        for block in test.entries("produce"):
            _produce(block, streams, driver, made)
        for block in test.entries("assert"):
            _assert(block, streams, driver, made)
    except AssertionError as error:
        return Result(suite, name, "FAIL", f"AssertionError: {error}" if str(error) else "AssertionError")
    except KsmlError:
        raise
    except (RecordFailed, RejectedRecord, EncodeError, DecodeError, RecursionError) as error:
        return Result(suite, name, "ERROR", str(error))
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        return Result(suite, name, "ERROR", f"{type(error).__name__}: {error} ({Path(at.filename).name}:{at.lineno})")
    return Result(suite, name, "PASS")


def _produce(node: Node, streams: dict[str, Stream], driver: KsmlDriver, made: Definitions) -> None:
    stream = _stream(node, "to", streams)
    if stream.topic not in driver.job.inputs:
        raise node.refuse(f"{stream.topic} is not a topic that the definition reads: name a stream of one")
    for number, (key, value, timestamp) in enumerate(_messages(node, stream, made)):
        # Use the number of a message without a timestamp, so that messages keep their order.
        driver.pipe(key, value, stream.topic, number if timestamp is None else timestamp)


def _messages(node: Node, stream: Stream, made: Definitions) -> Iterator[tuple[Any, Any, int | None]]:
    change_key, change = (converter(ANY, kind, made.formats) for kind in (stream.key, stream.value))
    for message in node.entries("messages"):
        at = message.get("timestamp")
        key, value = (None if (content := message.get(name)) is None else raw(content) for name in ("key", "value"))
        yield (
            key if change_key is None else change_key(key),
            value if change is None else change(value),
            None if at is None else int(at.value),
        )
    held = node.get("generator")
    if held is None:
        return
    source = read_function(held, "generator", "generator")
    call = Functions("test", [source], Watch(KsmlSettings().function_time_limit_ms)).late(source)
    count = node.get("count")
    for _ in range(1 if count is None else int(count.value)):
        content = call()
        for key, value in content if isinstance(content, list) else [content]:
            yield (
                key if change_key is None else change_key(key),
                value if change is None else change(value),
                None,
            )


def _assert(node: Node, streams: dict[str, Stream], driver: KsmlDriver, made: Definitions) -> None:
    variables: dict[str, Any] = {}
    if node.get("on") is not None:
        stream = _stream(node, "on", streams)
        variables["records"] = [
            {
                "key": None if sent.key is None else window_struct(sent.key),
                "value": None if sent.value is None else plain(sent.value),
                "timestamp": sent.timestamp,
                "headers": list(sent.headers),
            }
            for sent in driver.sent
            if sent.topic == stream.topic
        ]
    for store_name in node.entries("stores"):
        variables[store_name.text] = _store(store_name, driver, made)
    code = node.value["code"]
    try:
        compiled = compile("\n" * (code.first_line - 1) + code.text, node.file, "exec")
    except SyntaxError as error:
        raise refusal(node.file, error.lineno or code.first_line, f"code is not valid Python: {error.msg}") from error
    exec(compiled, variables)


def _store(node: Node, driver: KsmlDriver, made: Definitions) -> Proxy:
    for definition in made.files:
        spec = definition.stores.get(node.text)
        store = None if spec is None else driver.store(spec.name)
        if spec is not None and store is not None:
            return Build.proxy(made.formats, spec, store)
    raise node.refuse(f"no pipeline of the definition uses a store {node.text!r}: name one that it does")


def raw(node: Node) -> Any:
    """Return the plain value of a node."""
    if node.is_object:
        return {key: None if entry.value is None else raw(entry) for key, entry in node.items()}
    if node.is_list:
        return [raw(item) for item in node.value]
    return node.value


def _streams(root: Node) -> dict[str, Stream]:
    streams: dict[str, Stream] = {}
    for name, node in root.children("streams").items():
        key, value = read_type(node, "keyType", STRING), read_type(node, "valueType", STRING)
        for part, kind in (("keyType", key), ("valueType", value)):
            if kind.name.startswith(OF_SUBJECT):
                text = node.string(part)
                raise node.value[part].refuse(f"{part} {text} has no schema in a test: write {text}:Name")
        streams[name] = Stream(node.string("topic"), key, value)
    return streams


def _stream(node: Node, key: str, streams: dict[str, Stream]) -> Stream:
    return streams[node.string(key)]


def _folder(file: Path, root: Node, key: str) -> Path | None:
    return _relative_to(file, root.string(key)) if root.get(key) is not None else None


def _relative_to(file: Path, name: str) -> Path:
    """Return a path in a suite, relative to the suite's folder if it exists there, else unchanged."""
    return file.parent / name if (file.parent / name).exists() else Path(name)
