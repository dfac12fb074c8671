"""The embedded platform with a second listener, which is reachable only through a proxy."""

from __future__ import annotations

from pathlib import Path

from faults.proxy import Proxy
from forebay.platform import Platform
from forebay.platform.broker import Broker
from forebay.platform.ports import HOST, free_port
from forebay.platform.progress import Progress

_CLEANUP_MS = 500


class ProxiedBroker(Broker):
    """A broker that also listens behind a proxy, and checks for expired transactions twice a second."""

    behind: int
    proxied: int

    def prepare(self, java: Path, progress: Progress) -> list[str]:
        arguments = super().prepare(java, progress)
        settings = self.home / "broker" / "server.properties"
        lines = settings.read_text().splitlines()
        added = {
            "listeners": f"PROXIED://{HOST}:{self.behind}",
            "advertised.listeners": f"PROXIED://{HOST}:{self.proxied}",
            "listener.security.protocol.map": "PROXIED:PLAINTEXT",
        }
        for index, line in enumerate(lines):
            more = added.get(line.partition("=")[0])
            if more is not None:
                lines[index] = f"{line},{more}"
        lines.append(f"transaction.abort.timed.out.transaction.cleanup.interval.ms={_CLEANUP_MS}")
        settings.write_text("\n".join(lines) + "\n")
        return arguments


class FaultyPlatform(Platform):
    """Broker and registry, and a proxy through which a job under test reaches the broker."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        broker = ProxiedBroker(self.home, self._state)
        broker.behind = free_port()
        broker.proxied = free_port(frozenset({broker.behind}))
        self.broker = broker
        self.proxy = Proxy((HOST, broker.proxied), (HOST, broker.behind))
        self.proxied_servers = f"{HOST}:{broker.proxied}"
