from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest

from forebay.platform import PlatformError, SilentProgress
from forebay.platform.artifacts import KAFKA as KAFKA_JAR
from forebay.platform.artifacts import KAFKA_LOGGING, kafka_classpath, registry_jar
from forebay.platform.artifacts import REGISTRY as REGISTRY_ARCHIVE
from forebay.platform.checksums import RECORDED
from forebay.platform.progress import Download

KAFKA = "org/apache/kafka/kafka_2.13/4.3.0/kafka_2.13-4.3.0"
LOGGING = "org/apache/logging/log4j/log4j-slf4j-impl/2.25.4/log4j-slf4j-impl-2.25.4"
REGISTRY = "io/apicurio/apicurio-registry-app/3.0.9/apicurio-registry-app-3.0.9"
POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>4.3.0</version></project>"""


class Recorder(SilentProgress):
    def __init__(self) -> None:
        self.received: list[str] = []

    def file(self, name: str, size: int) -> None:
        self.received.append(name)

    def advance(self, size: int) -> None: ...

    @contextmanager
    def download(self, label: str) -> Iterator[Download]:
        yield self


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Serve a Maven repository with a tiny broker and registry."""
    root = tmp_path / "remote"
    for name in (KAFKA, LOGGING, REGISTRY):
        (root / name).parent.mkdir(parents=True)
    (root / f"{KAFKA}.pom").write_text(POM, encoding="utf-8")
    for name in (KAFKA, LOGGING):
        with zipfile.ZipFile(root / f"{name}.jar", "w") as jar:
            jar.writestr("Some.class", "x" * 1000)
    with tarfile.open(root / f"{REGISTRY}-all.tar.gz", "w:gz") as archive:
        runner = tarfile.TarInfo("apicurio-registry-app-3.0.9-runner.jar")
        runner.size = 4
        archive.addfile(runner, io.BytesIO(b"jar!"))
    monkeypatch.setattr("forebay.platform.checksums.RECORDED", digests(root))
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(root)))
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    address = f"http://user:secret@127.0.0.1:{server.server_port}"
    monkeypatch.setattr("forebay.platform.artifacts.remote_repositories", lambda: {"central": address})
    monkeypatch.setenv("M2_REPO", str(tmp_path / "m2"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield root
    server.shutdown()
    server.server_close()


def digests(root: Path) -> dict[str, str]:
    files = (file for file in root.rglob("*") if file.suffix in (".jar", ".gz"))
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def empty(root: Path) -> None:
    for file in list(root.rglob("*.*")):
        if file.is_file():
            file.unlink()


def test_the_broker_is_downloaded_once(remote: Path) -> None:
    progress = Recorder()
    classpath = kafka_classpath(progress)
    assert [jar.name for jar in classpath] == ["kafka_2.13-4.3.0.jar", "log4j-slf4j-impl-2.25.4.jar"]
    assert "kafka_2.13-4.3.0.jar" in progress.received
    empty(remote)
    again = Recorder()
    assert kafka_classpath(again) == classpath
    assert again.received == []


def test_two_at_once_download_once(remote: Path) -> None:
    begun, waiting = Event(), Event()

    class First(Recorder):
        def file(self, name: str, size: int) -> None:
            super().file(name, size)
            begun.set()
            assert waiting.wait(10)

    class Second(Recorder):
        def step(self, message: str) -> None:
            assert message == "waiting for another process that downloads"
            waiting.set()

    second = Second()
    with ThreadPoolExecutor() as threads:
        first = threads.submit(kafka_classpath, First())
        assert begun.wait(10)
        assert kafka_classpath(second) == first.result(10)
    assert waiting.is_set()
    assert second.received == []


def test_half_a_jar_is_downloaded_again(remote: Path) -> None:
    jar, _ = kafka_classpath(SilentProgress())
    whole = jar.read_bytes()
    jar.write_bytes(whole[:100])
    assert kafka_classpath(SilentProgress())[0].read_bytes() == whole


def test_an_interrupted_download_leaves_nothing_behind(remote: Path, tmp_path: Path) -> None:
    class Interrupted(Recorder):
        def advance(self, size: int) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kafka_classpath(Interrupted())
    assert [path for path in (tmp_path / "m2").rglob("*") if path.is_file()] == []
    assert kafka_classpath(SilentProgress())


def test_a_repository_without_it_is_reported_without_credentials(remote: Path) -> None:
    empty(remote)
    with pytest.raises(PlatformError, match=r"Apache Kafka 4\.3\.0 can't be downloaded.*check the network") as failed:
        kafka_classpath(SilentProgress())
    assert "secret" not in str(failed.value)


def test_the_registry_is_unpacked_once(remote: Path) -> None:
    jar = registry_jar(SilentProgress())
    assert jar.read_bytes() == b"jar!"
    empty(remote)
    assert registry_jar(SilentProgress()) == jar


def test_half_an_archive_is_downloaded_again(remote: Path, tmp_path: Path) -> None:
    retained = tmp_path / "m2" / f"{REGISTRY}-all.tar.gz"
    retained.parent.mkdir(parents=True)
    retained.write_bytes((remote / f"{REGISTRY}-all.tar.gz").read_bytes()[:50])
    assert registry_jar(SilentProgress()).read_bytes() == b"jar!"


def test_a_cache_that_cant_be_written_is_named(remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "blocked").write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "blocked"))
    with pytest.raises(PlatformError, match=r"can't be stored under .*M2_REPO and XDG_CACHE_HOME"):
        kafka_classpath(SilentProgress())


def test_a_jar_that_is_not_the_recorded_one_is_refused(remote: Path) -> None:
    with zipfile.ZipFile(remote / f"{KAFKA}.jar", "w") as jar:
        jar.writestr("Some.class", "another jar")
    with pytest.raises(PlatformError, match=r"kafka_2.13-4.3.0.jar has the SHA-256 \w{64}, recorded is \w{64}"):
        kafka_classpath(SilentProgress())


def test_a_changed_jar_is_downloaded_again(remote: Path, tmp_path: Path) -> None:
    jar, _ = kafka_classpath(SilentProgress())
    whole = jar.read_bytes()
    (tmp_path / "cache" / "forebay").joinpath("org.apache.kafka_kafka_2.13_4.3.0.json").unlink()
    jar.write_bytes(whole + b"and more")
    assert kafka_classpath(SilentProgress())[0].read_bytes() == whole


def test_a_dependency_that_was_not_recorded_is_refused(remote: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forebay.platform.checksums.RECORDED", {})
    with pytest.raises(PlatformError, match="not one of the recorded files"):
        kafka_classpath(SilentProgress())


def test_an_archive_that_is_not_the_recorded_one_is_not_unpacked(remote: Path, tmp_path: Path) -> None:
    archive = remote / f"{REGISTRY}-all.tar.gz"
    archive.write_bytes(archive.read_bytes() + b"\0")
    with pytest.raises(PlatformError, match=r"all\.tar\.gz has the SHA-256"):
        registry_jar(SilentProgress())
    assert not list((tmp_path / "cache").rglob("*runner.jar"))


def test_every_version_in_use_is_recorded() -> None:
    names = set(RECORDED)
    for coordinates, ending in ((KAFKA_JAR, ".jar"), (KAFKA_LOGGING, ".jar"), (REGISTRY_ARCHIVE, "-all.tar.gz")):
        _, name, version = coordinates.split(":")
        assert f"{name}-{version}{ending}" in names
    assert all(len(digest) == 64 for digest in RECORDED.values())
