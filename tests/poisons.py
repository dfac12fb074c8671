"""Poisonous records: one of each kind that has stopped, or could stop, a task.

Add newly discovered kinds here. Every service is tested with all of them, on the test driver
(tests/services/test_poison.py) and on a real broker (integration-tests/test_poison.py).
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import fastavro

from forebay.catalog import SIDE_TOPIC
from forebay.processor.messages import Headers
from forebay.producing.base import Defect, Event, Source
from forebay.producing.frames import Frames
from forebay.records import fields_of, replace
from forebay.serde import load_contract

MAX_LONG, MIN_LONG = 2**63 - 1, -(2**63)
KILOBYTE, MEGABYTE = 1_000, 1_000_000
SIDE_LIMIT = int(SIDE_TOPIC["max.message.bytes"])


class Fate(Enum):
    """The expected handling of a poisonous record."""

    REFUSED = "it goes to .errors, once, and changes nothing"
    DELETES = "in a table it deletes its key; elsewhere it goes to .errors"
    ANY = "it is used or refused; the records behind it are processed either way"


@dataclass(frozen=True, slots=True)
class Sent:
    """A record to send. If `timestamp` (ms) is None, its time is that of sending."""

    key: bytes | None
    value: bytes | None
    headers: Headers = field(default_factory=list)
    timestamp: int | None = None


class Maker:
    """Maker of poisonous records for one topic.

    Args:
        source: Source of the topic.
        good: An ordinary record, whose key is used only here.
        encode: Function that encodes a value with its contract and frames it.
        register: Function that registers a schema under a suffix of the subject, and returns its id.
    """

    def __init__(
        self, source: Source, good: Event[Any], encode: Callable[[Any], bytes], register: Callable[[str, str], int]
    ) -> None:
        self.contract = json.loads(load_contract(source.service, source.contract).text)
        self.event, self.key = good, good.key.encode()
        self.encode = encode
        self._register = register
        self._frames = Frames(encode, json.dumps(self.contract), source.required_field, register)

    @property
    def good(self) -> bytes:
        """The encoded value of the ordinary record."""
        return self.encode(self.event.value)

    def with_defect(self, defect: Defect) -> Sent:
        """Return the record with a defect of its producer."""
        return Sent(*self._frames.frame(self.event._replace(defect=defect)))

    def at(self, timestamp: int) -> Sent:
        """Return the record with another event time."""
        return Sent(self.key, self.encode(replace(self.event.value, timestamp=timestamp)))

    def delete(self, key: bytes) -> Sent:
        """Return a record without a value, at the time of the ordinary record."""
        return Sent(key, None, timestamp=self.event.timestamp)

    def with_each(self, kind: type, value: Any) -> Sent:
        """Return the record with `value` in every field of the type `kind`, except its timestamp."""
        record = self.event.value
        changed = {
            entry: value
            for entry in fields_of(type(record))
            if type(getattr(record, entry)) is kind and entry != "timestamp"
        }
        return Sent(self.key, self.encode(replace(record, **changed)))

    def under(self, name: str, schema: Any, value: Any) -> Sent:
        """Return a record whose value has another schema."""
        body = io.BytesIO()
        fastavro.schemaless_writer(body, fastavro.parse_schema(schema, named_schemas={}), value)
        schema_id = self._register(name, json.dumps(schema))
        return Sent(self.key, b"\0" + schema_id.to_bytes(4, "big") + body.getvalue())

    def nest(self, levels: int) -> Sent:
        """Return a record with an additional field, which contains nested records."""
        schema: Any = {"type": "record", "name": "Level0", "fields": []}
        value: Any = {}
        for level in range(1, levels):
            schema = {"type": "record", "name": f"Level{level}", "fields": [{"name": "inner", "type": schema}]}
            value = {"inner": value}
        name, fields = self.contract["name"], [{"name": "more", "type": schema}]
        return self.under("nested", {"type": "record", "name": name, "fields": fields}, {"more": value})


@dataclass(frozen=True, slots=True)
class Poison:
    """A kind of poisonous record, which `make` creates with the topic's maker."""

    make: Callable[[Maker], Sent]
    fate: Fate = Fate.REFUSED


BYTES = {
    "no bytes": Poison(lambda m: Sent(m.key, b"")),
    "one byte": Poison(lambda m: Sent(m.key, b"\0")),
    "rubbish": Poison(lambda m: Sent(m.key, b"\xde\xad\xbe\xef")),
    "a header and nothing": Poison(lambda m: Sent(m.key, m.good[:5])),
    "bytes left over": Poison(lambda m: Sent(m.key, m.good + b"\0\0")),
    "a megabyte of rubbish": Poison(lambda m: Sent(m.key, b"\xff" * (MEGABYTE - KILOBYTE))),
    "rubbish that .errors just takes": Poison(lambda m: Sent(m.key, b"\xff" * (SIDE_LIMIT - 2 * KILOBYTE))),
    "rubbish that .errors does not take": Poison(lambda m: Sent(m.key, b"\xff" * (SIDE_LIMIT + KILOBYTE))),
    "an id above 31 bits": Poison(lambda m: Sent(m.key, b"\0\xff\xff\xff\xff" + m.good[5:])),
    "an endless number": Poison(lambda m: Sent(m.key, m.good[:5] + b"\xff" * 100)),
}
DEFECTS = {
    defect.value: Poison(lambda m, defect=defect: m.with_defect(defect))  # type: ignore[misc]
    for defect in Defect
    if defect is not Defect.NULL_VALUE
}
NULLS = {
    "no value": Poison(lambda m: m.delete(b"poison"), Fate.DELETES),
    "neither key nor value": Poison(lambda _: Sent(None, None)),
    "no key and rubbish": Poison(lambda _: Sent(None, b"rubbish")),
}
KEYS = {
    "a key that is not UTF-8": Poison(lambda m: Sent(b"\xff\xfe", m.good)),
    "an empty key": Poison(lambda m: Sent(b"", m.good), Fate.ANY),
    "a key with zero bytes": Poison(lambda m: Sent(b"a\0\1\0b", m.good), Fate.ANY),
    "a key of 400 kB": Poison(lambda m: Sent(b"k" * 400 * KILOBYTE, m.good), Fate.ANY),
    "a key of 540 kB and a value": Poison(lambda m: Sent(b"k" * 540 * KILOBYTE, m.good), Fate.ANY),
    "a key of 900 kB": Poison(lambda m: Sent(b"k" * 900 * KILOBYTE, m.good), Fate.ANY),
    "a key of 540 kB and a delete": Poison(lambda m: m.delete(b"k" * 540 * KILOBYTE), Fate.DELETES),
}
HEADERS = {
    "a thousand headers": Poison(lambda m: Sent(m.key, b"rubbish", [(f"h{n}", b"1") for n in range(KILOBYTE)])),
    "headers of 500 kB": Poison(lambda m: Sent(m.key, b"rubbish", [("h", b"1" * 500 * KILOBYTE)])),
    "a header without a value": Poison(lambda m: Sent(m.key, b"rubbish", [("h", None), ("raw", b"\0\xff"), ("", b"")])),
    "headers of an earlier report": Poison(
        lambda m: Sent(m.key, b"rubbish", [("error.message", b"1" * 9_000), ("late.by_ms", b"\xff")])
    ),
}
SIZES = {
    f"{kilobytes} kB in every text": Poison(lambda m, n=kilobytes: m.with_each(str, "x" * n * KILOBYTE), Fate.ANY)  # type: ignore[misc]
    for kilobytes in (1, 60, 120)
}
TIMES = {
    "event time 0": Poison(lambda m: m.at(0), Fate.ANY),
    "event time 1": Poison(lambda m: m.at(1), Fate.ANY),
    "the largest event time": Poison(lambda m: m.at(MAX_LONG)),
    "the smallest event time": Poison(lambda m: m.at(MIN_LONG)),
    "rubbish at time 0": Poison(lambda m: Sent(m.key, b"rubbish", timestamp=0)),
    "rubbish of 2100": Poison(lambda m: Sent(m.key, b"rubbish", timestamp=4_102_444_800_000)),
    "rubbish without a time": Poison(lambda m: Sent(m.key, b"rubbish", timestamp=-1)),
}
VALUES = {
    "the largest numbers": Poison(lambda m: m.with_each(int, 2**31 - 1), Fate.ANY),
    "the smallest numbers": Poison(lambda m: m.with_each(int, -(2**31)), Fate.ANY),
    "no number": Poison(lambda m: m.with_each(float, math.nan), Fate.ANY),
    "infinity": Poison(lambda m: m.with_each(float, math.inf), Fate.ANY),
    "a very large number": Poison(lambda m: m.with_each(float, 1.7e308), Fate.ANY),
    "empty texts": Poison(lambda m: m.with_each(str, ""), Fate.ANY),
    "texts of zero bytes": Poison(lambda m: m.with_each(str, "\0\1\0"), Fate.ANY),
}
SCHEMAS = {
    "a schema that is not a record": Poison(lambda m: m.under("text", "string", "hello")),
    "another record": Poison(lambda m: m.under("other", {"type": "record", "name": "Other", "fields": []}, {})),
    "a record without fields": Poison(
        lambda m: m.under("empty", {"type": "record", "name": m.contract["name"], "fields": []}, {})
    ),
    "records in records in records": Poison(lambda m: m.nest(60)),
}

POISONS: dict[str, Poison] = {
    **BYTES,
    **DEFECTS,
    **NULLS,
    **KEYS,
    **HEADERS,
    **SIZES,
    **TIMES,
    **VALUES,
    **SCHEMAS,
}

RESERVED: tuple[Headers, ...] = (
    [("forebay.time", b"[1, 2, 3, 4]")],
    [("forebay.time", b"rubbish")],
    [("forebay.sender", b"0-0"), ("forebay.time", b"[1, 2, 3, 4]")],
    [("forebay.sender", None), ("forebay.", b"\xff")],
)
"""Headers with the names of those in repartition topics."""

PLAIN: dict[str, tuple[bytes | None, Headers]] = {
    **{
        f"the number {number[:20]}": (f'{{"K": "a", "N": {number}, "T": "x"}}'.encode(), [])
        for number in ("1e999999999999999999", "1e1000000", "-1e1000000", "1e400", "NaN", str(2**63), "9" * 5_000)
    },
    **{
        f"the text {number[:20]} as a number": (f'{{"K": "a", "N": "{number}", "T": "x"}}'.encode(), [])
        for number in ("1e999999999999999999", "1e1000000", "9" * 100_000)
    },
    **{f"reserved headers {n}": (b'{"K": "a", "N": 1, "T": "x"}', item) for n, item in enumerate(RESERVED)},
    "a result of 3 MB": (b'{"K": "a", "N": 3000000, "T": "x"}', []),
    "lists in lists": (b'{"K": "a", "N": 1, "T": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", []),
    "another type": (b'{"K": ["a"], "N": {"a": 1}, "T": 7}', []),
    "a number of 100,000 digits": (b'{"K": "a", "N": ' + b"9" * 100_000 + b', "T": "x"}', []),
    "a fraction of 100,000 digits": (b'{"K": "a", "N": 0.' + b"9" * 100_000 + b', "T": "x"}', []),
    "a costly pattern": (b'{"K": "a", "N": 1, "T": "' + b"x" * 50_000 + b'"}', []),
    "a costly lambda": (b'{"K": "a", "N": 99999, "T": ""}', []),
    "a text of 900 kB": (b'{"K": "a", "N": 1, "T": "' + b"x" * 900_000 + b'"}', []),
    "a repartitioned key of 600 kB": (b'{"K": "' + b"k" * 600_000 + b'", "N": 1, "T": "x"}', []),
    "a million fields": (b"{" + b",".join(b'"%x":1' % n for n in range(90_000)) + b"}", []),
    "an endless array": (b"[1,", []),
    "rubbish": (b"\xff{", []),
    "no bytes": (b"", []),
    "no value": (None, []),
    "a lone surrogate": (b'{"K": "\\ud800", "N": 1, "T": "x"}', []),
}
"""Values of JSON that are sent to jobs of SQL, KSML and the DSL, with their headers."""

PLAIN_KEYS: dict[str, bytes | None] = {
    "no key": None,
    "an empty key": b"",
    "a key that is not UTF-8": b"\xff\xfe",
    "a key with zero bytes": b"a\0\1\0b",
    "a key of 400 kB": b"k" * 400 * KILOBYTE,
    "a key of 900 kB": b"k" * 900 * KILOBYTE,
}
"""Keys that are sent to these jobs with a valid value."""
