"""Find out with a plain socket why a broker does not answer, and what to change.

If the protocol is wrong, librdkafka reports only that brokers are down. Two requests of Kafka's protocol reveal more:
ApiVersions, which every Kafka listener answers, and Metadata, at which a listener with SASL closes the connection.
"""

from __future__ import annotations

import socket
import ssl
import struct

from forebay.kafka.settings import KafkaSettings

LOOK_S = 1.5
"""Timeout of each step of a check, in seconds."""

_DEFAULT_PORT = 9092
_MOST_LOOKS = 3
_API_VERSIONS, _METADATA = 18, 3
_CORRELATION = struct.pack(">i", 0x466F7265)
_TLS_RECORDS = (0x15, 0x16)
_ADDRESS = "--bootstrap-servers (FOREBAY_BOOTSTRAP_SERVERS)"
_PROTOCOL = "-X security.protocol (FOREBAY_KAFKA_SECURITY_PROTOCOL)"


def why_silent(settings: KafkaSettings, timeout_s: float = LOOK_S) -> str:
    """Return what is wrong with the bootstrap servers, and what to change; "" if one of them is usable."""
    protocol = str(settings.kafka.get("security.protocol", "PLAINTEXT")).upper()
    servers = [server.strip() for server in settings.bootstrap_servers.split(",")][:_MOST_LOOKS]
    first = ""
    for server in servers:
        silence = look(server, protocol, timeout_s)
        if not silence:
            return ""
        first = first or silence
    return first


def look(server: str, protocol: str, timeout_s: float = LOOK_S) -> str:
    """Return what is wrong with an address (host:port) for a client with a security protocol; "" if nothing is."""
    host, port = _split(server)
    try:
        with socket.create_connection((host, port), timeout_s) as connection:
            if protocol.endswith("SSL"):
                return _without_tls(connection, server, host, protocol)
            return _without_kafka(connection, server, protocol) or _with_tls(server, protocol, timeout_s)
    except socket.gaierror as error:
        return f"the name {host} is not known here ({error.strerror}): check the host in {_ADDRESS}"
    except ConnectionRefusedError:
        return f"nothing listens on {server}: check that the broker runs there, and {_ADDRESS}"
    except TimeoutError:
        return f"{server} does not answer within {timeout_s:.1f} s: check {_ADDRESS}, and firewalls on the way"
    except OSError as error:
        return f"{server} can't be reached ({error.strerror or error}): check {_ADDRESS}"


def _split(server: str) -> tuple[str, int]:
    _, _, address = server.rpartition("://")
    host, separator, port = address.rpartition(":")
    if not separator or not port.isdecimal():
        return address.strip("[]"), _DEFAULT_PORT
    return host.strip("[]"), int(port)


def _without_tls(connection: socket.socket, server: str, host: str, protocol: str) -> str:
    """Return a message if a listener does not speak TLS, else "". Certificates are not checked here."""
    try:
        with _trusting().wrap_socket(connection, server_hostname=host):
            return ""
    except (ssl.SSLError, ConnectionError, TimeoutError) as error:
        if isinstance(error, ssl.SSLError) and "CERTIFICATE" in str(error.reason):
            return ""  # it speaks TLS, and requires a client certificate
        plain = protocol.replace("SSL", "PLAINTEXT")
        return (
            f"{server} does not speak TLS, but the client does ({protocol}): set {_PROTOCOL}={plain}, or use another "
            "port"
        )


def _without_kafka(connection: socket.socket, server: str, protocol: str) -> str:
    """Return a message about a listener that does not answer Kafka's requests in plain text; "" if it does."""
    answer = _request(connection, _API_VERSIONS, b"")
    if answer[:4] == b"HTTP" or answer[:1] == b"<":
        return (
            f"{server} answers with HTTP, so it is not a Kafka broker (perhaps the schema registry): check {_ADDRESS}"
        )
    if answer and answer[0] in _TLS_RECORDS:
        return _expects_tls(server, protocol)
    if answer and answer[4:8] != _CORRELATION:
        return _no_broker(server)
    if answer and protocol == "PLAINTEXT" and not _request(connection, _METADATA, struct.pack(">i", 0)):
        return (
            f"{server} closes connections of clients without SASL: set {_PROTOCOL}=SASL_PLAINTEXT, sasl.mechanism, "
            "sasl.username and FOREBAY_KAFKA_SASL_PASSWORD"
        )
    return ""


def _with_tls(server: str, protocol: str, timeout_s: float) -> str:
    """Return a message if a listener that closes plain-text connections, as Java's do, speaks TLS or is no broker."""
    with socket.create_connection(_split(server), timeout_s) as connection:
        if _request(connection, _API_VERSIONS, b""):
            return ""
    try:
        with (
            socket.create_connection(_split(server), timeout_s) as connection,
            _trusting().wrap_socket(connection, server_hostname=_split(server)[0]),
        ):
            return _expects_tls(server, protocol)
    except ssl.SSLError as error:
        return _expects_tls(server, protocol) if "CERTIFICATE" in str(error.reason) else _no_broker(server)
    except OSError:
        return _no_broker(server)


def _expects_tls(server: str, protocol: str) -> str:
    return f"{server} expects TLS: set {_PROTOCOL}={protocol.replace('PLAINTEXT', 'SSL')} and ssl.ca.location"


def _no_broker(server: str) -> str:
    return f"{server} accepts connections but does not answer as a Kafka broker does: check {_ADDRESS}"


def _request(connection: socket.socket, api: int, body: bytes) -> bytes:
    """Return the beginning of the answer to a request of version 0; b"" if the connection is closed or times out."""
    request = struct.pack(">hh", api, 0) + _CORRELATION + struct.pack(">h", -1) + body
    try:
        connection.sendall(struct.pack(">i", len(request)) + request)
        answer = connection.recv(64)
        if answer[4:8] == _CORRELATION:
            _drain(connection, int.from_bytes(answer[:4], "big") + 4 - len(answer))
        return answer
    except (ConnectionError, TimeoutError):
        return b""


def _drain(connection: socket.socket, left: int) -> None:
    """Read the rest of an answer. Otherwise it would be taken for the next answer."""
    while left > 0 and (data := connection.recv(min(left, 65_536))):
        left -= len(data)


def _trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    # Nothing is sent over this connection, which only shows whether the listener speaks TLS. The client itself checks
    # the certificate.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
