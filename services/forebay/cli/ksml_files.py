"""Arguments, options and functions that the KSML commands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from forebay.catalog import Topic
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import spec_of
from forebay.ksml import mounting
from forebay.ksml.mounting import Mounted, environment, files_of, read_mounts, service_name
from forebay.ksml.registered import NEEDED, URL
from forebay.service.plugins import VARIABLE

Command = TypeVar("Command", bound=Callable[..., Any])

files_argument = click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(exists=True, path_type=Path)
)
create_option = click.option(
    "--create-topics/--no-create-topics", "create", default=True, help="Create missing topics."
)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_FOLDERS = (
    click.option(
        "--schemas", multiple=True, type=_FOLDER, help="Folder of schemas, in addition to those of the files."
    ),
    click.option(
        "--modules",
        multiple=True,
        type=_FOLDER,
        help="Folder of Python modules that functions import, in addition to those of the files.",
    ),
)


def files_options(command: Command) -> Command:
    """Add the FILE arguments, and the options for folders of schemas and modules."""
    for option in reversed((files_argument, *_FOLDERS)):
        command = option(command)
    return command


def mount_files(
    files: tuple[Path, ...],
    schemas: tuple[Path, ...],
    modules: tuple[Path, ...],
    settings: KafkaSettings,
    application: str = "",
) -> Mounted:
    """Add the definitions to the services of this process and its child processes. Raises KsmlError."""
    os.environ[URL] = settings.schema_registry_url
    paths = files_of(files)
    os.environ.update(environment(application or service_name(paths), paths, schemas, modules))
    mounted_files = read_mounts(registry=NEEDED)
    named = [name for name in os.environ.get(VARIABLE, "").split(",") if name and name != mounting.MODULE]
    os.environ[VARIABLE] = ",".join((*named, mounting.MODULE))
    return mounted_files


def create_topics(settings: KafkaSettings, topics: Iterable[Topic]) -> Iterator[str]:
    """Create missing topics, and yield a line for each. Existing topics do not change."""
    admin = TopicAdmin(settings)
    declared = {topic.name: topic for topic in topics}
    existing = admin.describe(declared)
    missing = [spec_of(topic) for name, topic in declared.items() if name not in existing]
    for name in admin.create(missing) if missing else ():
        yield f"{name}: created"
