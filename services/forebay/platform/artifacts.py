"""Downloads the broker and the registry from Maven repositories, once, in pure Python."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import requests
from jgo.maven import Artifact, MavenContext, PythonResolver

from forebay.platform.checksums import is_recorded, mismatch
from forebay.platform.errors import PlatformError
from forebay.platform.maven import local_repository, remote_repositories
from forebay.platform.progress import Download, Progress

T = TypeVar("T")

KAFKA = "org.apache.kafka:kafka_2.13:4.3.0"
# Kafka logs with SLF4J 1.7, whose backend is chosen by the distribution.
KAFKA_LOGGING = "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"
REGISTRY = "io.apicurio:apicurio-registry-app:3.0.9"
_REGISTRY_RUNNER = "apicurio-registry-app-3.0.9-runner.jar"
_ATTEMPTS = 3
_TIMEOUT_SECONDS = 30
_CREDENTIALS = re.compile(r"://[^/@\s]+@")


def cache_directory() -> Path:
    """Return the cache directory that all platforms of this user share."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "forebay"


def kafka_classpath(progress: Progress) -> tuple[Path, ...]:
    """Return the broker's jars. The first call downloads them to Maven's local repository.

    Raises:
        PlatformError: a jar can't be downloaded or stored.
    """
    index = cache_directory() / (KAFKA.replace(":", "_") + ".json")
    return _found_or_fetched(
        "Apache Kafka 4.3.0", progress, lambda: _read_index(index), lambda download: _kafka(download, index)
    )


def registry_jar(progress: Progress) -> Path:
    """Return the registry's runnable jar. The first call downloads and unpacks its archive.

    Raises:
        PlatformError: the archive can't be downloaded, stored or unpacked.
    """
    runner = cache_directory() / REGISTRY.replace(":", "_") / _REGISTRY_RUNNER

    def unpacked_runner() -> Path | None:
        return runner if runner.is_file() else None

    return _found_or_fetched(
        "Apicurio Registry 3.0.9", progress, unpacked_runner, lambda download: _registry(download, runner)
    )


def kafka_artifacts(download: Download) -> list[Artifact]:
    """Return the broker's jars as Maven resolves them."""
    context = _context(download)
    inputs, transitive = context.resolver.resolve([context.create_dependency(KAFKA)])
    needed = [*inputs, *(dependency for dependency in transitive if dependency.scope in ("compile", "runtime"))]
    needed.append(context.create_dependency(KAFKA_LOGGING))
    return [dependency.artifact for dependency in needed]


def registry_artifact(download: Download) -> Artifact:
    """Return the registry's archive as Maven resolves it."""
    group, name, version = REGISTRY.split(":")
    return _context(download).project(group, name).at_version(version).artifact("all", "tar.gz")


def _kafka(download: Download, index: Path) -> tuple[Path, ...]:
    jars = tuple(map(_genuine, kafka_artifacts(download)))
    index.parent.mkdir(parents=True, exist_ok=True)
    index.write_text(json.dumps({str(jar): jar.stat().st_size for jar in jars}, indent=2), encoding="utf-8")
    return jars


def _read_index(index: Path) -> tuple[Path, ...]:
    try:
        sizes = json.loads(index.read_text(encoding="utf-8"))
        jars = tuple(Path(name) for name in sizes)
        return jars if all(jar.stat().st_size == sizes[str(jar)] for jar in jars) else ()
    except (OSError, ValueError):
        return ()


def _genuine(artifact: Artifact) -> Path:
    """Return the artifact's file, downloaded again if its checksum is wrong. Raises PlatformError."""
    file = Path(artifact.resolve())
    if not is_recorded(file):
        file.unlink()
        file = Path(artifact.resolve())
    if not is_recorded(file):
        raise mismatch(file)
    return file


def _registry(download: Download, runner: Path) -> Path:
    application = runner.parent
    archive = _genuine(registry_artifact(download))
    application.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix="registry-", dir=application.parent))
    try:
        with tarfile.open(archive) as tar:
            # Python 3.11.4 and newer refuse members that lead out of the directory.
            tar.extraction_filter = getattr(tarfile, "data_filter", None)
            tar.extractall(draft)
        shutil.rmtree(application, ignore_errors=True)
        draft.rename(application)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return runner


class _Resolver(PythonResolver):
    """A resolver that reports progress, and leaves no incomplete file if it is interrupted."""

    def __init__(self, download: Download) -> None:
        self._download = download
        super().__init__(progress_callback=self._file)

    @contextmanager
    def _file(self, name: str, size: int) -> Iterator[Callable[[int], None]]:
        self._download.file(name, size)
        yield self._download.advance

    def download(self, artifact: Artifact) -> Path | None:
        """Download one file into Maven's local repository."""
        try:
            return super().download(artifact)
        except BaseException:
            if artifact.cached_path is not None:
                artifact.cached_path.unlink(missing_ok=True)
            raise


def _context(download: Download) -> MavenContext:
    return MavenContext(
        resolver=_Resolver(download),
        repo_cache=local_repository(),
        remote_repos=remote_repositories(),
        timeout=_TIMEOUT_SECONDS,
    )


@contextmanager
def _alone(progress: Progress) -> Iterator[None]:
    """Wait until no other process downloads, because it would write the same files of Maven's local repository."""
    cache_directory().mkdir(parents=True, exist_ok=True)
    with (cache_directory() / "download.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.step("waiting for another process that downloads")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _found_or_fetched(
    label: str, progress: Progress, find: Callable[[], T | None], fetch: Callable[[Download], T]
) -> T:
    """Return the existing artifacts, or fetch them unless another process has done so meanwhile."""
    existing = find()
    if existing:
        return existing
    try:
        with _alone(progress):
            return find() or _fetch(label, progress, fetch)
    except OSError as error:
        raise PlatformError(
            f"{label} can't be stored under {local_repository()} or {cache_directory()} ({error.strerror}): "
            "free space or make it writable; M2_REPO and XDG_CACHE_HOME choose other directories."
        ) from error


def _fetch(label: str, progress: Progress, fetch: Callable[[Download], T]) -> T:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with progress.download(label) as download:
                return fetch(download)
        except (requests.RequestException, tarfile.TarError, EOFError, RuntimeError) as error:
            reason = _CREDENTIALS.sub("://***@", str(error))
            if attempt == _ATTEMPTS:
                raise PlatformError(
                    f"{label} can't be downloaded ({reason}): check the network and the proxy; "
                    "a mirror is taken from ~/.m2/settings.xml or jgo's configuration file."
                ) from error
            progress.step(f"downloading {label} failed ({reason}), retrying")
    raise AssertionError("unreachable")
