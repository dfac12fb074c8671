"""A job with least rights on a secured broker has exact results, reports revoked rights, and leaks no secret."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from job_process import PYTHON_PATH, JobProcess
from replays import check
from security.searching import command_lines, files_with, holds, open_files_with
from security.secured import Environment, Secured
from service_bench import ServiceBench

from forebay.cli.main import run
from forebay.kafka.acls import Operation, Resource, Right, Role, rights

START_MS = 1_735_689_600_000
HOUR_MS = 3_600_000
SERVICE = "user-sessions"


def token(kind: str) -> str:
    return f"{kind}-{uuid.uuid4().hex}"


@dataclass
class SecuredJob:
    """A user-sessions job whose environment contains all secrets and whose files are all in `folder`."""

    broker: Secured
    folder: Path
    application: str
    environment: Environment
    secrets: list[str]
    bench: ServiceBench = field(init=False)

    def __post_init__(self) -> None:
        self.bench = ServiceBench(self.broker.platform, SERVICE, self.application, self.folder)
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir()

    def start(self, *arguments: str) -> JobProcess:
        events = self.folder / "events"
        events.mkdir()
        given = (SERVICE, "--application", self.application, "--checkpoint", str(self.bench.checkpoint))
        spied = ("--conf", "spark.eventLog.enabled=true", "--conf", f"spark.eventLog.dir={events.as_uri()}")
        scratch = {
            "TMPDIR": str(self.scratch),
            "SPARK_LOCAL_DIRS": str(self.scratch),
            "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={self.scratch}",
        }
        environment = {**self.environment, **scratch, "FOREBAY_HOME": str(self.folder)}
        rest = ("--http-port", "0", *spied, *arguments)
        return JobProcess([*given, *rest], self.folder / f"{self.application}.log", environment)

    def leaks(self) -> list[str]:
        """Return the files that contain a secret, among checkpoint, log, event log and temporary files."""
        return [place for secret in self.secrets for place in files_with(secret, self.folder)]

    def leaks_of(self, job: JobProcess) -> list[str]:
        """Return where the running job shows a secret: process list, log, HTTP pages and open files."""
        processes = [job.process, *job.process.children(recursive=True)]
        shown = {
            "the process list": command_lines(processes),
            "the log": job.text(),
            **{path: job.http(path)[1] for path in ("/metrics", "/readyz", "/healthz")},
        }
        places = [name for name, text in shown.items() for secret in self.secrets if holds(text.encode(), secret)]
        return places + [place for secret in self.secrets for place in open_files_with(secret, processes)]


def forebay(arguments: list[str], environment: Environment) -> str:
    """Run a command in a new process and return its output."""
    done = subprocess.run(
        [sys.executable, "-m", "forebay.cli.main", *arguments],
        env={**os.environ, "PYTHONPATH": PYTHON_PATH, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def produce(environment: Environment, seed: int, start_ms: int) -> None:
    """Send events out of order, including duplicate and invalid ones."""
    shares = ("--out-of-order", "0.1", "--duplicates", "0.05", "--malformed", "0.05")
    some = ("--rate", "0", "--count", "3000", "--keys", "100", "--seed", str(seed), "--start", str(start_ms))
    forebay(["produce", "user_activity", *some, *shares], environment)


def grant(broker: Secured, principal: str, role: Role, application: str = SERVICE) -> None:
    """Grant a role's rights with the documented command `forebay acl --apply`."""
    endpoints = broker.platform.endpoints
    where = ("--bootstrap-servers", endpoints.bootstrap_servers, "--schema-registry-url", endpoints.registry_url)
    whose = ("--application", application, "--principal", principal, "--role", role.value, "--apply")
    assert run(["acl", SERVICE, *whose, *where]) == 0


@pytest.fixture
def producing(broker: Secured) -> Environment:
    """Return the environment of a user who may only write to the input topic."""
    broker.add_user("shop", "shop-password")
    grant(broker, "User:shop", Role.PRODUCE)
    return broker.environment(broker.scram, broker.scram_options("shop", "shop-password"))


@pytest.fixture
def scram_job(broker: Secured, tmp_path: Path) -> SecuredJob:
    """Return a job with a password, a key's passphrase and a registry password."""
    password, passphrase, registry = token("sasl"), token("key"), token("registry")
    broker.add_user("sessions", password)
    key = broker.mutual_options(broker.authority.client("unused", passphrase), passphrase)
    options = {**key, **broker.scram_options("sessions", password)}
    environment = {
        **broker.environment(broker.scram, options),
        "FOREBAY_SCHEMA_REGISTRY_USERNAME": "sessions",
        "FOREBAY_SCHEMA_REGISTRY_PASSWORD": registry,
    }
    return SecuredJob(broker, tmp_path, "discreet", environment, [password, passphrase, registry])


def until_reported(job: JobProcess, right: Right, since: int) -> None:
    """Wait until /readyz and the log (after its first `since` messages) name a missing right and the remedy."""
    reason = re.compile(
        rf"User:sessions lacks .*{re.escape(str(right))}.*forebay acl user-sessions --application discreet"
    )

    def both() -> bool:
        status, body = job.http("/readyz")
        return status == 503 and reason.search(json.loads(body)["reason"]) is not None

    job.until(
        lambda: any(reason.search(message) for message in job.messages()[since:]),
        f"the log says that {right} lacks",
        300,
    )
    job.until(both, f"readiness says that {right} lacks", 60)


@pytest.mark.timeout(900)
def test_minimal_acls_suffice_missing_acls_are_reported_and_no_secret_leaks(
    broker: Secured, scram_job: SecuredJob, producing: Environment
) -> None:
    needed = rights(scram_job.bench.service, "discreet", Role.RUN)
    transactional = next(right for right in needed if right.resource is Resource.TRANSACTIONAL_ID)
    written = Right(Operation.WRITE, Resource.TOPIC, "user_session_stats", "")
    bench = scram_job.bench
    produce(producing, 21, START_MS)
    job = scram_job.start("--max-records-per-commit", "700", "--checkpoint-interval-ms", "5000")
    try:
        until_reported(job, needed[0], 0)
        since = len(job.messages())
        broker.grant("User:sessions", *(right for right in needed if right != transactional))
        until_reported(job, transactional, since)
        grant(broker, "User:sessions", Role.RUN, "discreet")
        job.until(bench.has_read_everything, "everything is read")
        job.until(lambda: job.http("/readyz")[0] == 200, "the job is ready")
        assert "can't check whether an input is compacted too soon" in job.text(), "DESCRIBE_CONFIGS is not granted"

        since = len(job.messages())
        broker.revoke("User:sessions", written)
        produce(producing, 22, START_MS + HOUR_MS)
        until_reported(job, written, since)
        broker.grant("User:sessions", written)
        job.until(bench.has_read_everything, "everything is read")
        check(SERVICE, bench)

        assert owners_of(scram_job.secrets[0], job) >= {"python", "java"}, "the job's processes must have the secret"
        assert scram_job.leaks_of(job) == []
        assert scram_job.leaks() == []
    finally:
        job.kill()
    assert scram_job.leaks() == []
    user = next(iter(next(part for part in bench.changelog("user-profiles").values() if part)))
    assert files_with(user.decode(), bench.checkpoint), "the search must see into Spark's state"
    assert any(scram_job.scratch.rglob("*")), "temporary files must be in the searched folder"
    assert list((scram_job.folder / "events").iterdir())


def owners_of(secret: str, job: JobProcess) -> set[str]:
    """Return the types of processes whose environment contains a secret. Other users can't read an environment."""
    names = set()
    for process in [job.process, *job.process.children(recursive=True)]:
        try:
            if secret in process.environ().values():
                names.add("java" if "java" in process.name() else "python")
        except psutil.NoSuchProcess:
            continue
    return names


@pytest.mark.timeout(400)
def test_client_certificates_instead_of_passwords(broker: Secured, tmp_path: Path, producing: Environment) -> None:
    passphrase = token("key")
    options = broker.mutual_options(broker.authority.client("sessions", passphrase), passphrase)
    environment = broker.environment(broker.mutual, options)
    mutual = SecuredJob(broker, tmp_path, "mutual", environment, [passphrase])
    grant(broker, "User:CN=sessions", Role.RUN, "mutual")
    produce(producing, 23, START_MS)
    assert "answers" in forebay(["wait", "--seconds", "30"], environment)
    job = mutual.start("--trigger", "available-now")
    try:
        assert job.finish() == 0, job.text()
    finally:
        job.kill()
    check(SERVICE, mutual.bench)
    assert mutual.leaks() == []

    broker.add_user("reader", "reader-password")
    grant(broker, "User:reader", Role.CONSUME)
    reading = broker.environment(broker.scram, broker.scram_options("reader", "reader-password"))
    printed = forebay(["tail", "user_session_stats", "--from", "beginning", "--no-follow"], reading)
    assert len(printed.splitlines()) == sum(map(len, mutual.bench.outputs().values()))
