"""The broker's settings: one node for development, small, that never drops data on its own."""

from __future__ import annotations

from pathlib import Path

from forebay.platform.ports import HOST

_MAX_LONG = 2**63 - 1
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


def server_properties(broker_port: int, controller_port: int, data: Path) -> str:
    """Give server.properties of the broker."""
    settings: dict[str, object] = {
        **_controller(controller_port, data),
        "process.roles": "broker,controller",
        "inter.broker.listener.name": "PLAINTEXT",
        "listeners": f"PLAINTEXT://{HOST}:{broker_port},CONTROLLER://{HOST}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{broker_port}",
        "auto.create.topics.enable": "false",
        # Data is replayed and event times are odd on purpose: nothing expires, any timestamp is accepted.
        "log.retention.ms": -1,
        "log.message.timestamp.after.max.ms": _MAX_LONG,
        "log.message.timestamp.before.max.ms": _MAX_LONG,
        "offsets.retention.minutes": _TEN_YEARS_MINUTES,
        "offsets.topic.replication.factor": 1,
        "offsets.topic.num.partitions": 4,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 4,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        "share.coordinator.state.topic.num.partitions": 4,
        # A busy machine must not cost the only broker its leaderships: see crash_recovery.
        "broker.session.timeout.ms": 30_000,
        "group.initial.rebalance.delay.ms": 0,
        "num.network.threads": 2,
        "num.io.threads": 4,
        "background.threads": 4,
        "log.cleaner.dedupe.buffer.size": 16 * 1024 * 1024,
    }
    return _lines(settings)


def recovery_properties(controller_port: int, data: Path) -> str:
    """Give server.properties of the controller alone, that soon gives a crashed broker up."""
    settings: dict[str, object] = {
        **_controller(controller_port, data),
        "process.roles": "controller",
        "listeners": f"CONTROLLER://{HOST}:{controller_port}",
        "broker.session.timeout.ms": 500,
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
