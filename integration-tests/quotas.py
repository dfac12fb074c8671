"""Client quotas of the embedded broker, set by Kafka's own command."""

from __future__ import annotations

import os
import subprocess

from forebay.platform.artifacts import kafka_classpath
from forebay.platform.java import find_java
from forebay.platform.progress import SilentProgress


def limit_producer(bootstrap_servers: str, client: str, bytes_per_second: int) -> None:
    """Limit the write rate (bytes per second) of clients with this client.id. 0 removes the limit."""
    change = f"producer_byte_rate={bytes_per_second}" if bytes_per_second else "producer_byte_rate"
    option = "--add-config" if bytes_per_second else "--delete-config"
    classpath = os.pathsep.join(str(jar) for jar in kafka_classpath(SilentProgress()))
    command = [
        *(str(find_java()), "-Xmx128m", "-cp", classpath, "kafka.admin.ConfigCommand"),
        *("--bootstrap-server", bootstrap_servers, "--entity-type", "clients", "--entity-name", client),
        *("--alter", option, change),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
