from collections.abc import Callable, Mapping
from typing import Any

from forebay.serde.avro_types import Record
from forebay.serde.plan import ReadPlan

class Codec:
    def __init__(
        self,
        name: str,
        schema_id: int,
        contract: Record,
        classes: Mapping[str, type],
        explain_encode: Callable[[Any], bytes],
        explain_decode: Callable[[bytes], Any],
    ) -> None: ...
    def add(self, schema_id: int, plan: ReadPlan) -> None: ...
    def is_canonical(self, record: Any) -> bool: ...
    def encode(self, record: Any) -> bytes: ...
    def decode(self, data: bytes) -> Any: ...
