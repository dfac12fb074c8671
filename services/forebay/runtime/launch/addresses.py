"""IP addresses as Spark and the JVM expect them."""

from __future__ import annotations


def host_of(address: str) -> str:
    """Return an IP address in the form of Spark's settings: IPv6 in brackets."""
    return f"[{address}]" if ":" in address and not address.startswith("[") else address


def stack_option(address: str) -> str:
    """Return the JVM option for an address's family: IPv4 sockets only, unless the address is IPv6."""
    return f"-Djava.net.preferIPv4Stack={str(':' not in address).lower()}"
