"""The settings of a small, single-node broker for development, whose data never expires."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from forebay.platform.errors import PlatformError
from forebay.platform.ports import HOST

_TEN_YEARS_MINUTES = 10 * 365 * 24 * 60
_NODE_ID = 1

LOG4J2 = """\
status = error
rootLogger.level = info
rootLogger.appenderRef.stdout.ref = stdout
appender.stdout.type = Console
appender.stdout.name = stdout
appender.stdout.layout.type = PatternLayout
appender.stdout.layout.pattern = [%d] %p %m (%c)%n
logger.config.name = org.apache.kafka.common.config
logger.config.level = warn
logger.server.name = kafka.server.KafkaConfig
logger.server.level = warn
"""


_NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Listener:
    """An additional listener of a broker on the loopback address.

    Args:
        name: its name in settings (`listener.name.<name>...`).
        protocol: Kafka's security protocol.
    """

    name: str
    protocol: str
    port: int


@dataclass(frozen=True, slots=True)
class Additions:
    """Additional listeners of a broker, and settings that override ours."""

    listeners: tuple[Listener, ...] = ()
    settings: Mapping[str, str] = field(default_factory=lambda: _NO_SETTINGS)


@dataclass(frozen=True, slots=True)
class Listeners:
    """The addresses on which a broker listens, and which it advertises.

    Args:
        port: port for clients.
        controller_port: port of the controller, always on the loopback address.
        bind: address to listen on.
        advertised: host that is advertised to clients.
        forwarded_port: a second port that advertises the loopback address (kubectl port-forward); 0: none.
        others: additional listeners.
    """

    port: int
    controller_port: int
    bind: str = HOST
    advertised: str = HOST
    forwarded_port: int = 0
    others: tuple[Listener, ...] = ()

    def settings(self) -> dict[str, object]:
        """Return the broker's settings."""
        listeners = {"PLAINTEXT": f"{self.bind}:{self.port}", "CONTROLLER": f"{HOST}:{self.controller_port}"}
        advertised = {"PLAINTEXT": f"{self.advertised}:{self.port}"}
        if self.forwarded_port:
            listeners["FORWARDED"] = f"{self.bind}:{self.forwarded_port}"
            advertised["FORWARDED"] = f"{HOST}:{self.forwarded_port}"
        protocols = dict.fromkeys(listeners, "PLAINTEXT")
        for other in self.others:
            listeners[other.name] = advertised[other.name] = f"{HOST}:{other.port}"
            protocols[other.name] = other.protocol
        return {
            "listeners": ",".join(f"{name}://{address}" for name, address in listeners.items()),
            "advertised.listeners": ",".join(f"{name}://{address}" for name, address in advertised.items()),
            "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
        }


def server_properties(listeners: Listeners, data: Path, further: Mapping[str, str] = _NO_SETTINGS) -> str:
    """Return server.properties of the broker. `further` settings override ours."""
    settings: dict[str, object] = {
        **_controller(listeners.controller_port, data),
        **listeners.settings(),
        "process.roles": "broker,controller",
        "inter.broker.listener.name": "PLAINTEXT",
        "auto.create.topics.enable": "false",
        # Nothing expires, because data is replayed with its original event times, and a laptop may be off for
        # weeks. All other limits are Kafka's defaults, so that this broker refuses what any broker refuses.
        "log.retention.ms": -1,
        "offsets.retention.minutes": _TEN_YEARS_MINUTES,
        "offsets.topic.replication.factor": 1,
        "offsets.topic.num.partitions": 4,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 4,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        "share.coordinator.state.topic.num.partitions": 4,
        # On a busy machine, the only broker must not lose its leaderships: see crash_recovery.
        "broker.session.timeout.ms": 30_000,
        "group.initial.rebalance.delay.ms": 0,
        "num.network.threads": 2,
        "num.io.threads": 4,
        "background.threads": 4,
        "log.cleaner.dedupe.buffer.size": 16 * 1024 * 1024,
        **further,
    }
    return _lines(settings)


def read_properties(file: Path) -> dict[str, str]:
    """Return the settings of a file like server.properties, in which each line is `name=value` or a `#` comment.

    Raises:
        PlatformError: the file can't be read, or a line is neither.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PlatformError(f"{file} can't be read: {error}") from error
    settings = {}
    for number, line in enumerate(lines, start=1):
        name, equals, value = line.strip().partition("=")
        if not name or name.startswith("#"):
            continue
        if not equals:
            raise PlatformError(f"{file}, line {number}: a setting is name=value")
        settings[name.strip()] = value.strip()
    return settings


def recovery_properties(controller_port: int, data: Path) -> str:
    """Return server.properties of the controller alone, which fences a crashed broker soon."""
    settings: dict[str, object] = {
        **_controller(controller_port, data),
        "process.roles": "controller",
        "listeners": f"CONTROLLER://{HOST}:{controller_port}",
        "broker.session.timeout.ms": 500,
        "metadata.log.max.record.bytes.between.snapshots": 1,
        "broker.heartbeat.interval.ms": 100,
    }
    return _lines(settings)


def _controller(port: int, data: Path) -> dict[str, object]:
    return {
        "node.id": _NODE_ID,
        "controller.quorum.voters": f"{_NODE_ID}@{HOST}:{port}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": data,
    }


def _lines(settings: dict[str, object]) -> str:
    return "".join(f"{name}={value}\n" for name, value in settings.items())
