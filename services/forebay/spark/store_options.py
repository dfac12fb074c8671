"""Options of a read of a store: `application`, `store`, `service` and connection options."""

from __future__ import annotations

from collections.abc import Mapping

from forebay.runtime.changelog.topics import changelog_topic
from forebay.spark.errors import OptionError
from forebay.spark.side_records import names_side_topic
from forebay.spark.source_options import SourceOptions, read_source_options
from forebay.spark.store_declaration import StoreName
from forebay.utils.names import IllegalName, check_name
from forebay.utils.spelling import did_you_mean

_OWN = ("application", "store", "service")
_SHARED = ("bootstrapServers", "schemaRegistryUrl", "mode")


def names_store(options: Mapping[str, str]) -> bool:
    """Return whether the options name a store instead of topics."""
    return not names_side_topic(options) and any(name.lower() in _OWN for name in options)


def read_store_options(options: Mapping[str, str]) -> tuple[StoreName, SourceOptions]:
    """Return the store to read, and the options for reading its changelog.

    Raises:
        OptionError: An option is unknown or missing, or does not apply to stores.
    """
    given = {name.lower(): text for name, text in options.items()}
    allowed = (*_OWN, *_SHARED)
    for option in given.keys() - {name.lower() for name in allowed}:
        if not option.startswith("kafka."):
            raise OptionError(
                f"the option {option} does not apply to a store{did_you_mean(option, allowed)}: a store has "
                f"{', '.join(allowed)} and kafka.<option>"
            )
    for option, example in (("application", "user-sessions"), ("store", "user-profiles")):
        if not given.get(option, "").strip():
            raise OptionError(
                f'to read a store, set option("{option}", "{example}"); to read the failed records of an '
                'application, set option("records", "errors")'
            )
    name = StoreName(given["application"].strip(), given["store"].strip(), given.get("service", "").strip())
    topic = changelog_topic(name.application, name.store)
    try:
        check_name(topic)
    except IllegalName as error:
        raise OptionError(f"this is not a valid name of a store: {error}") from error
    rest = {option: text for option, text in given.items() if option not in _OWN}
    return name, read_source_options({**rest, "subscribe": topic})
