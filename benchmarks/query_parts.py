"""Duration of pull queries that another part answers, with servers of three parts and a server with all rows.

    python -m benchmarks.query_parts

Each server is a process.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Sequence
from http.client import HTTPConnection

from forebay.http.server import HttpServer
from forebay.platform.ports import HOST, free_port
from forebay.queries.pages import QueryPages
from forebay.queries.parts.share import Share
from forebay.queries.stores import JobStores
from forebay.testing.cell import Cell
from tests.queries.parts.parted import PARTS, TASKS, PartServer, owner, publish, written_tasks
from tests.queries.written import CODECS, LOG

ROWS, PULLS, SECONDS = 20_000, 600, 5.0


def serve(part: int, ports: Sequence[int], ready: multiprocessing.synchronize.Event) -> None:
    """Serve a part. If the number is that after the last part, serve all rows."""
    tasks = written_tasks()
    for number in range(ROWS):
        key = f"user-{number:06}"
        tasks[owner(key)].store("plain").put(key, Cell(f'"{"x" * 130}"'))
    publish(tasks)
    replicas = [task.replica for task in tasks]
    if part == PARTS:
        stores = JobStores([LOG.stores], [replicas], TASKS)
        answer = QueryPages(lambda: stores).answer
    else:
        peers = [f"http://{HOST}:{port}" for port in ports[:PARTS]]
        answer = PartServer(Share(part, PARTS), peers, LOG, CODECS, replicas, seconds=SECONDS).answer
    server = HttpServer(answer, HOST, ports[part])
    ready.set()
    time.sleep(600)
    server.close()


def measure(what: str, port: int, targets: Sequence[str]) -> None:
    """Print the duration of pull queries that are sent one after the other."""
    connection, taken = HTTPConnection(HOST, port), []
    for target in targets:
        begun = time.perf_counter()
        connection.request("GET", target)
        connection.getresponse().read()
        taken.append((time.perf_counter() - begun) * 1_000)
    taken.sort()
    print(f"{what:32} p50 {taken[len(taken) // 2]:7.2f} ms  p99 {taken[len(taken) * 99 // 100]:7.2f} ms", flush=True)


def main() -> None:
    """Run the benchmark, with each kind of pull query at a part and at the server with all rows."""
    ports = [free_port() for _ in range(PARTS + 1)]
    ready = [multiprocessing.Event() for _ in ports]
    servers = [
        multiprocessing.Process(target=serve, args=(part, ports, event), daemon=True)
        for part, event in enumerate(ready)
    ]
    for server in servers:
        server.start()
    for event in ready:
        assert event.wait(120)
    keys = [f"user-{number:06}" for number in range(0, ROWS, 7)]
    own, other = ([f"/stores/plain/{key}" for key in keys if owner(key) % PARTS == part] for part in (0, 1))
    missing = [f"/stores/plain/missing-{number}" for number in range(PULLS)]
    first, whole = ports[0], ports[PARTS]
    measure("a key, everything there", whole, own[:PULLS])
    measure("a key of this part", first, own[:PULLS])
    measure("a key of another part", first, other[:PULLS])
    for where, port in (("everything there", whole), ("parts", first)):
        measure(f"no such key, {where}", port, missing)
        measure(f"100 of all keys, {where}", port, ["/stores/plain"] * 200)
        measure(f"10,000 of all keys, {where}", port, ["/stores/plain?limit=10000"] * 10)
    for server in servers:
        server.terminate()


if __name__ == "__main__":
    main()
