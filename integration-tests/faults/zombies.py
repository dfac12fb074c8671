"""A second driver or worker of an application, which must be refused or leave the results exact."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import psutil
from job_process import JobProcess
from loop_worker import LoopWorker

from faults.life import Life
from forebay.codec import Unavailable
from forebay.runtime.driver.logic_settings import parse_logic

_WAITS = "the JVM of an earlier driver still holds the checkpoint"
END_SECONDS = 300.0


def on_the_same_checkpoint(life: Life) -> float:
    """Start a second driver on the checkpoint in use. Return the time (monotonic, s) of the fault."""
    at = time.monotonic()
    _must_stop(life, life.start("-zombie"), "another job holds the checkpoint")
    return at


def on_an_old_copy(life: Life) -> float:
    """Start a second driver on an older copy of the first driver's checkpoint, and end it after a while."""
    with life.job.frozen():
        old = _copy(life)
    life.until_commits(30)
    own, life.bench.checkpoint = life.bench.checkpoint, old
    at = time.monotonic()
    try:
        zombie = life.start("-zombie")
    finally:
        life.bench.checkpoint = own
    _side_by_side(life, zombie)
    return at


def woken_after_its_successor(life: Life) -> float:
    """Freeze all processes of the job, resume with another driver on a copy of its checkpoint, and wake the first."""
    first = life.job
    with first.frozen():
        life.bench.checkpoint = _copy(life)
        life.job = life.start("-successor")
        life.until_commits(30)
        at = time.monotonic()
    _side_by_side(life, first)
    return at


def second_worker(life: Life) -> float:
    """Take over the job's first group, like an executor that returns, and commit until the job owns it again."""
    position = next(iter(life.positions.newest.values()))
    at = time.monotonic()
    logic = parse_logic(life.bench.service, life.logic)
    lease = {"checkpoint": position["checkpoint"], "groups": life.groups}
    rival = LoopWorker(life.bench, lease=lease, logic=logic)
    try:
        rival.open()
        rival.until(lambda: False, END_SECONDS)
    except Unavailable:
        rival.group.abandon()
    return at


def jvm_outlives_its_driver(life: Life) -> float:
    """Freeze the JVM and kill its driver. The next driver must wait until the JVM has resumed and ended."""
    first, jvm = life.job, life.job.jvm()
    jvm.suspend()
    at = time.monotonic()
    try:
        first.process.kill()
        first.process.wait(30)
        # The kernel resumes stopped processes if their process group is orphaned by the death of a parent.
        jvm.suspend()
        life.until(lambda: life.job is not first and _WAITS in life.job.text(), "the next driver waits", END_SECONDS)
    finally:
        jvm.resume()
    psutil.wait_procs([jvm], END_SECONDS)
    return at


def _copy(life: Life) -> Path:
    copy = life.folder / f"copy-{life.positions.samples}"
    shutil.copytree(life.bench.checkpoint, copy)
    return copy


def _side_by_side(life: Life, zombie: JobProcess) -> None:
    """Let two drivers take the groups from each other for a while, then end one of them."""
    zombie.until(
        lambda: zombie.total("commits") > 0 or not zombie.is_running(), "it has the groups for once", END_SECONDS
    )
    life.until_commits(30)
    zombie.kill()


def _must_stop(life: Life, zombie: JobProcess, *reasons: str) -> None:
    life.until(lambda: not zombie.is_running(), "the second driver stops by itself", END_SECONDS)
    text = zombie.text()
    assert zombie.process.returncode != 0, f"the second driver ended as if all was well: {text}"
    assert any(reason in text for reason in reasons), f"the second driver stopped for another reason: {text}"
