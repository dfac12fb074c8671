"""Definitions on the test driver: records in, records out, no broker."""

from __future__ import annotations

from typing import Any

from forebay.ksml.compile import Definitions, KsmlSettings, job_of
from forebay.processor.declared import declared_stores
from forebay.processor.messages import Headers
from forebay.serde import AvroCodec, LocalSchemas, Schema
from forebay.service.wiring import Contract
from forebay.stores.binding import Store
from forebay.testing import Forwarded, TestDriver


class KsmlDriver:
    """Runs definitions with the loop of a job, on the test driver.

    Args:
        settings: of the functions; the defaults unless given.
        tasks: number of state tasks.
        partitions: of every topic; a multiple of the tasks; as many as tasks by default.
        raise_errors: whether a record that fails raises RecordFailed.
    """

    def __init__(
        self,
        made: Definitions,
        settings: KsmlSettings | None = None,
        tasks: int = 1,
        partitions: int = 0,
        *,
        raise_errors: bool = False,
    ) -> None:
        self.job = job_of(made)
        self.driver = TestDriver(
            self.job,
            settings=settings,
            tasks=tasks,
            partitions=partitions,
            raise_errors=raise_errors,
            contract=_contracts(made),
        )

    @property
    def sent(self) -> list[Forwarded[Any]]:
        """Every record sent so far, in order."""
        return self.driver.outputs

    def pipe(
        self, key: Any, value: Any, topic: str, timestamp: int = 0, headers: Headers | None = None
    ) -> list[Forwarded[Any]]:
        """Process a record, and what it caused in topics that are read as well; give the outputs."""
        return self.driver.pipe(key, value, topic, timestamp, headers)

    def advance(self, ms: int) -> list[Forwarded[Any]]:
        """Let time pass without records; give the outputs it caused."""
        return self.driver.advance_wall_time(ms)

    def store(self, name: str) -> Store[Any] | None:
        """Return the first task's store of a name; None: no pipeline uses one."""
        for sub_topology in self.driver.sub_topologies:
            for _, declared in declared_stores(sub_topology.processors[0]):
                if declared.name == name:
                    return declared
        return None


def _contracts(made: Definitions) -> Contract:
    """Return what gives the codecs of the definitions' Avro schemas, so that a test shows what a job refuses."""
    codecs: dict[type[Any], AvroCodec[Any]] = {}

    def codec(_: str, record: type[Any]) -> AvroCodec[Any]:
        if record not in codecs:
            schemas = LocalSchemas()
            schema = schemas.register(Schema(made.formats.contracts[record.__name__]))
            codecs[record] = AvroCodec(record, schema, schemas)
        return codecs[record]

    return codec
