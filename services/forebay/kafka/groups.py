"""Deletes consumer groups."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from forebay.kafka.errors import KafkaUnavailable, from_kafka
from forebay.kafka.retrying import keep_trying
from forebay.kafka.settings import KafkaSettings

_GONE = (KafkaError.GROUP_ID_NOT_FOUND, KafkaError.INVALID_GROUP_ID)
_PATIENCE_S = 60.0


def delete_groups(settings: KafkaSettings, names: Iterable[str], timeout_s: float = 30.0) -> tuple[str, ...]:
    """Delete consumer groups with their offsets. Return the names of those that existed.

    Raises:
        KafkaRefused: the broker refuses to delete a group, for instance because it has members.
        KafkaUnavailable: the broker can't be reached, or its group coordinators are not available.
    """
    admin = AdminClient(settings.admin())
    return tuple(name for name in names if keep_trying(partial(_delete, admin, name, timeout_s), _PATIENCE_S))


def _delete(admin: AdminClient, name: str, timeout_s: float) -> bool:
    (future,) = admin.delete_consumer_groups([name], request_timeout=timeout_s).values()
    try:
        future.result(timeout_s)
    except KafkaException as error:
        if error.args[0].code() in _GONE:
            return False
        raise from_kafka(error, f"can't delete the group {name}") from error
    except TimeoutError:
        raise KafkaUnavailable(f"can't delete the group {name}: no answer within {timeout_s:.0f} s") from None
    return True
