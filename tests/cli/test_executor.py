"""The command of an executor pod starts a JVM with the right options and address."""

from __future__ import annotations

import re
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

from forebay.cli import executor
from forebay.cli.executor import OPENED, PROPERTIES, Supervisor, java_command
from forebay.cli.main import run
from forebay.runtime.kubernetes import executors as kubernetes
from forebay.runtime.launch.jvmlog import LOGGING
from forebay.runtime.launch.rpc_secret import ENCRYPTED, driver_settings, executor_environment


def test_it_opens_the_packages_that_spark_opens_itself() -> None:
    jars = Path(str(find_spec("pyspark").origin)).parent / "jars"  # type: ignore[union-attr]
    (launcher,) = jars.glob("spark-launcher_*.jar")
    options = zipfile.ZipFile(launcher).read("org/apache/spark/launcher/JavaModuleOptions.class")
    opened = re.findall(rb"--add-opens=([\w./]+)=ALL-UNNAMED", options)
    properties = re.findall(rb"-Dio\.netty\.[\w.=]+", options)
    assert [name.decode() for name in opened] == list(OPENED)
    assert {text.decode() for text in properties} == set(PROPERTIES)


def test_it_connects_to_the_configured_driver() -> None:
    command = java_command("demo-driver.here.svc", "demo-executor", "10.0.0.7", "demo-executor-0", "640m", {})
    assert "-Xmx640m" in command
    options = dict(pairwise(command))
    assert options["--driver-url"] == "spark://CoarseGrainedScheduler@demo-driver.here.svc:7078"
    assert options["--app-id"] == "demo-executor"
    assert options["--podName"] == "demo-executor-0"
    assert options["--hostname"] == options["--bind-address"] == "10.0.0.7"
    assert int(options["--cores"]) >= 64, "all task groups of a job may run in one executor if the others are gone"


def test_the_jvm_logs_as_that_of_a_local_job_does() -> None:
    command = java_command("demo-driver.here.svc", "demo-executor", "10.0.0.7", "demo-executor-0", "640m", {})
    assert LOGGING.is_file()
    assert f"-Dlog4j2.configurationFile={LOGGING.as_uri()}" in command


def test_an_ipv6_address_is_in_brackets_and_the_jvm_opens_such_sockets() -> None:
    command = java_command("demo-driver.here.svc", "demo-executor", "fd00::7", "demo-executor-0", "640m", {})
    options = dict(pairwise(command))
    assert options["--hostname"] == options["--bind-address"] == "[fd00::7]"
    assert "-Djava.net.preferIPv4Stack=false" in command


def test_a_pod_without_its_name_fails_with_the_variable_to_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("POD_NAME", raising=False)
    monkeypatch.setenv("POD_IP", "10.0.0.7")
    assert run(["executor", "--driver", "d", "--application", "a"]) == 2
    assert "POD_NAME must be set" in capsys.readouterr().err


def test_a_heap_that_spark_would_refuse_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POD_NAME", "e-0")
    monkeypatch.setenv("POD_IP", "10.0.0.7")
    monkeypatch.setattr(executor, "Supervisor", None)
    assert run(["executor", "--driver", "d", "--application", "a", "--memory", "256m"]) == 2
    assert "Spark needs a heap of 480m or more" in " ".join(capsys.readouterr().err.split())


def test_an_executor_authenticates_before_it_receives_the_driver_s_settings(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("0123456789abcdef")
    command = java_command("d", "e", "10.0.0.7", "e-0", "640m", ENCRYPTED)
    assert "-Dspark.authenticate=true" in command
    own = {name: value for name, value in driver_settings(secret).items() if name in ENCRYPTED}
    assert own == ENCRYPTED, "both sides must use the same value"
    assert executor_environment(secret) == {"_SPARK_AUTH_SECRET": "MDEyMzQ1Njc4OWFiY2RlZg=="}
    assert not any("MDEyMz" in part for part in command), "the list of processes shows commands to everybody"


def test_spark_looks_for_the_secret_where_it_is_put() -> None:
    jars = Path(str(find_spec("pyspark").origin)).parent / "jars"  # type: ignore[union-attr]
    (core,) = jars.glob("spark-core_*.jar")
    (network,) = jars.glob("spark-network-common_*.jar")
    manager = zipfile.ZipFile(core).read("org/apache/spark/SecurityManager$.class")
    transport = zipfile.ZipFile(network).read("org/apache/spark/network/util/TransportConf.class")
    assert b"_SPARK_AUTH_SECRET" in manager
    for name in ENCRYPTED:
        assert name == "spark.authenticate" or name.encode() in transport, name


@pytest.mark.parametrize(
    ("content", "says"), [(None, "can't be read: No such file"), ("short", "has 5 bytes: a secret has at least 16")]
)
def test_an_invalid_secret_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, says: str
) -> None:
    secret = tmp_path / "secret"
    if content is not None:
        secret.write_text(content)
    assert run(["executor", "--driver", "d", "--application", "a", "--spark-secret", str(secret)]) == 2
    assert says in capsys.readouterr().err


def test_a_secret_without_executors_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = tmp_path / "secret"
    secret.write_text("0123456789abcdef")
    where = ("--bootstrap-servers", "nowhere:1", "--schema-registry-url", "http://nowhere:1")
    assert run(["run", "user-sessions", *where, "--spark-secret", str(secret)]) == 2
    assert "--spark-secret needs --executors" in capsys.readouterr().err


def test_a_driver_outside_of_a_pod_fails_with_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kubernetes, "SERVICE_ACCOUNT", tmp_path / "nowhere")
    with pytest.raises(kubernetes.NotOnKubernetes, match="outside of Kubernetes use --slots"):
        kubernetes.ExecutorPods.of_this_pod("demo-executor", "demo")


JVM = """
import signal, sys
with open(sys.argv[1], "a") as started:
    started.write("started,")
signal.sigwait({signal.SIGPWR})
"""


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def resolve_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Let host names resolve to these addresses."""

    def infos(_name: str, port: int, **_options: object) -> list[object]:
        return [(2, 1, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr("socket.getaddrinfo", infos)


def test_of_several_drivers_the_one_that_listens_is_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve_to(monkeypatch, "10.0.0.1", "10.0.0.2")
    monkeypatch.setattr(executor, "answers", lambda address: address == "10.0.0.2")
    assert executor.find_driver("driver") == "10.0.0.2"
    monkeypatch.setattr(executor, "answers", lambda _address: False)
    assert executor.find_driver("driver") is None


def test_an_executor_joins_another_driver_if_its_driver_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listening = {"10.0.0.1"}
    resolve_to(monkeypatch, "10.0.0.1", "10.0.0.2")
    monkeypatch.setattr(executor, "answers", lambda address: address in listening)
    monkeypatch.setattr(executor, "_POLL_SECONDS", 0.01)
    monkeypatch.setattr(executor, "_LOOK_SECONDS", 0.01)
    joined: list[str] = []

    def command(address: str) -> list[str]:
        joined.append(address)
        return [sys.executable, "-c", "import signal; signal.sigwait({signal.SIGPWR})"]

    supervisor = Supervisor("driver", command, None)
    thread = threading.Thread(target=supervisor.run)
    thread.start()
    until(lambda: joined == ["10.0.0.1"])
    listening.clear()
    assert joined == ["10.0.0.1"], "no other driver is there"
    listening.add("10.0.0.2")
    until(lambda: joined == ["10.0.0.1", "10.0.0.2"])
    supervisor.stop()
    thread.join(20)
    assert not thread.is_alive()


def test_a_jvm_that_is_started_while_the_executor_stops_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve_to(monkeypatch, "10.0.0.1")
    monkeypatch.setattr(executor, "answers", lambda _address: True)

    def command(_address: str) -> list[str]:
        supervisor.stop()
        return [sys.executable, "-c", "import signal; signal.sigwait({signal.SIGPWR})"]

    supervisor = Supervisor("driver", command, None)
    thread = threading.Thread(target=supervisor.run, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()


def test_an_executor_that_can_t_hold_its_driver_s_leases_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    driver_is_there, asked = threading.Event(), threading.Semaphore(0)
    driver_is_there.set()

    def answers(address: str) -> bool:
        asked.release()
        return driver_is_there.is_set()

    monkeypatch.setattr(executor, "answers", answers)
    resolve_to(monkeypatch, "10.0.0.1")
    monkeypatch.setattr(executor, "_POLL_SECONDS", 0.01)
    started = tmp_path / "started"
    started.touch()
    block = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPWR})\n"
    supervisor = Supervisor("driver", lambda _address: [sys.executable, "-c", block + JVM, str(started)], None)
    thread = threading.Thread(target=supervisor.run)
    thread.start()
    until(lambda: started.read_text() == "started,")
    supervisor.leave()
    until(lambda: "this executor and the driver driver have different code" in capsys.readouterr().err)
    for _ in range(20):
        assert asked.acquire(timeout=20), "it checks whether the driver still runs"
    assert started.read_text() == "started,", "it does not connect to the same driver again"
    driver_is_there.clear()
    until(lambda: "driver:7078 does not answer yet" in capsys.readouterr().err)
    driver_is_there.set()
    until(lambda: started.read_text() == "started,started,")
    supervisor.stop()
    thread.join(20)
    assert not thread.is_alive()
