"""Three HTTP servers, each with some of a job's tasks, and a fourth one with all tasks."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request as Ask
from urllib.request import urlopen

from prometheus_client import CollectorRegistry

from forebay.codec import Codec
from forebay.http.health import Health, health_page
from forebay.http.messages import Answer, Limits, Request
from forebay.http.server import HttpServer
from forebay.partitioner import partition_of
from forebay.queries.gate import Gate
from forebay.queries.pages import QueryPages
from forebay.queries.parts.servers import Settings
from forebay.queries.parts.serving import ServedPart
from forebay.queries.parts.share import Share
from forebay.queries.replica import TaskReplica
from forebay.queries.stores import JobStores
from forebay.runtime.changelog.sub_topology_log import SubTopologyLog
from tests.queries.written import CODECS, LOG, WrittenTask

HOST = "127.0.0.1"
PARTS, TASKS = 3, 5
SECONDS = 0.5

Handler = Callable[[Request], Answer]


class PartServer:
    """A part's query server, without the threads that follow the changelogs.

    Args:
        log, codecs: Changelogs and codecs of the job's only sub-topology.
        replicas: Replicas of all tasks, including those of other parts.
    """

    def __init__(
        self,
        share: Share,
        peers: Sequence[str],
        log: SubTopologyLog,
        codecs: Mapping[str, Codec[Any]],
        replicas: Sequence[TaskReplica],
        token: bytes | None = None,
        application: str = "app",
        seconds: float = SECONDS,
    ) -> None:
        self.registry, self.health = CollectorRegistry(), Health()
        held = [replica for replica in replicas if replica.task % share.parts == share.part]
        self.stores = JobStores([log.stores], [held], len(replicas))
        settings = Settings(share, peers, seconds)
        self.part = ServedPart(settings, "svc", application, [log], codecs, lambda: self.stores, self.registry)
        self.pages = QueryPages(lambda: self.stores, 0.05, self.part.all)
        self.asked: list[Request] = []
        self._gate = Gate(token)

    def answer(self, request: Request) -> Answer:
        """Return the response to a request, like `QueryServer`."""
        page = self.part.open_page(request, self.health) or health_page(request, self.health, self.registry)
        if page is not None:
            return page
        self.asked.append(request)
        if request.forwarded or request.path[0] == "part":
            return self._gate.refusal(request) or self.part.answer(request)
        return self._gate.refusal(request) or self.pages.answer(request)

    def value(self, name: str, part: int) -> float:
        """Return the value of this server's metric about a part."""
        return self.registry.get_sample_value(name, {"service": "svc", "part": str(part)}) or 0.0


class Parted:
    """A job of one sub-topology whose tasks are spread over three servers.

    Args:
        replicas: Replicas of all tasks.
    """

    def __init__(
        self,
        replicas: Sequence[TaskReplica],
        log: SubTopologyLog = LOG,
        codecs: Mapping[str, Codec[Any]] = CODECS,
        token: bytes | None = None,
        seconds: float = SECONDS,
        answers: int = 32,
    ) -> None:
        self.tasks: list[WrittenTask] = []
        self.all = JobStores([log.stores], [replicas], len(replicas))
        self.whole_answer: Handler = QueryPages(lambda: self.all, 0.05).answer
        self.handlers: list[Handler] = [self._nobody] * PARTS
        self.http = [HttpServer(self._handler(part), HOST, 0, Limits(answers=answers)) for part in range(PARTS)]
        self._whole = HttpServer(self._asked_whole, HOST, 0)
        self.urls = [f"http://{HOST}:{server.port}" for server in self.http]
        self.whole = f"http://{HOST}:{self._whole.port}"
        self.servers = [
            PartServer(Share(part, PARTS), self.urls, log, codecs, replicas, token, seconds=seconds)
            for part in range(PARTS)
        ]
        self.unblock_all()

    def unblock_all(self) -> None:
        """Let all parts respond again."""
        self.handlers[:] = [server.answer for server in self.servers]

    def lose(self, part: int) -> None:
        """Stop a part's server and close its connections."""
        self.servers[part].stores.close()
        self.http[part].close()

    def hang(self, part: int) -> threading.Event:
        """Block a part's responses. Return the event that unblocks them."""
        go_on = threading.Event()

        def waiting(request: Request) -> Answer:
            go_on.wait(20)
            return self.servers[part].answer(request)

        self.handlers[part] = waiting
        return go_on

    def close(self) -> None:
        for part in self.servers:
            part.part.close()
        with ThreadPoolExecutor() as threads:
            list(threads.map(HttpServer.close, (*self.http, self._whole)))

    def _handler(self, part: int) -> Handler:
        def answer(request: Request) -> Answer:
            return self.handlers[part](request)

        return answer

    def _asked_whole(self, request: Request) -> Answer:
        return self.whole_answer(request)

    @staticmethod
    def _nobody(request: Request) -> Answer:
        raise NotImplementedError(request)


def written_tasks(count: int = TASKS) -> list[WrittenTask]:
    """Return tasks with one committed, empty transaction each."""
    tasks = [WrittenTask(task) for task in range(count)]
    for task in tasks:
        task.publish()
    return tasks


def owner(key: str, tasks: int = TASKS) -> int:
    """Return the number of the task to which a record key belongs."""
    return partition_of(key.encode(), tasks)


def keys_of(task: int, count: int, prefix: str = "k") -> list[str]:
    """Return keys that belong to a task."""
    return [key for key in (f"{prefix}{number:04}" for number in range(count * 20)) if owner(key) == task][:count]


def get(url: str, headers: Mapping[str, str] | None = None, body: bytes | None = None) -> tuple[int, Any, Any]:
    """Send a request, and return status, content (JSON, or a list of JSON lines) and headers."""
    try:
        with urlopen(Ask(url, headers=dict(headers or {}), data=body), timeout=20) as response:
            return response.status, _content(response.read()), response.headers
    except HTTPError as error:
        with error:
            return error.code, _content(error.read()), error.headers


def _content(data: bytes) -> Any:
    lines = [json.loads(line) for line in data.splitlines()]
    return lines[0] if len(lines) == 1 else lines


def publish(tasks: Iterable[WrittenTask]) -> None:
    for task in tasks:
        task.publish()
