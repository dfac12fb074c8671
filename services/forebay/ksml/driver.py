"""Runs definitions on the test driver, without a broker."""

from __future__ import annotations

from typing import Any

from forebay.ksml.compile import Definitions, KsmlSettings, job_of
from forebay.processor.bound_stores import declared_stores
from forebay.processor.messages import Headers
from forebay.serde import AvroCodec, LocalSchemas, Schema
from forebay.service.wiring import Contract
from forebay.stores.binding import Store
from forebay.testing import Forwarded, TestDriver


class KsmlDriver:
    """Runs definitions with the loop of a job, on the test driver.

    Args:
        settings: settings of the functions; None: the defaults.
        tasks: number of state tasks.
        partitions: number of partitions of every topic, a multiple of the tasks. Default: the number of tasks.
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
        """The records sent so far, in order."""
        return self.driver.outputs

    def pipe(
        self, key: Any, value: Any, topic: str, timestamp: int = 0, headers: Headers | None = None
    ) -> list[Forwarded[Any]]:
        """Process a record, and the records that it causes in other inputs. Return the outputs."""
        return self.driver.pipe(key, value, topic, timestamp, headers)

    def advance(self, ms: int) -> list[Forwarded[Any]]:
        """Advance the time without records. Return the outputs that this causes."""
        return self.driver.advance_wall_time(ms)

    def store(self, name: str) -> Store[Any] | None:
        """Return the first task's store with a name; None if no pipeline uses such a store."""
        for sub_topology in self.driver.sub_topologies:
            for _, declared in declared_stores(sub_topology.processors[0]):
                if declared.name == name:
                    return declared
        return None


def _contracts(made: Definitions) -> Contract:
    """Return a function that returns the codecs of the definitions' Avro schemas, so that tests refuse what jobs do."""
    codecs: dict[type[Any], AvroCodec[Any]] = {}

    def codec(_: str, record: type[Any]) -> AvroCodec[Any]:
        if record not in codecs:
            schemas = LocalSchemas()
            schema = schemas.register(Schema(made.formats.contracts[record.__name__]))
            codecs[record] = AvroCodec(record, schema, schemas)
        return codecs[record]

    return codec
