"""Requests to a schema registry, with the kinds of failure told apart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import requests
from pydantic import SecretStr

from forebay.kafka.errors import RegistryRefused
from forebay.kafka.registry_settings import RegistrySettings
from forebay.serde.resolver import RegistryUnavailable

_JSON = "application/vnd.schemaregistry.v1+json"
_BUSY = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class Answer:
    """A registry's answer: HTTP status, its JSON."""

    status: int
    content: Any

    @property
    def found(self) -> bool:
        """Whether it is no 404."""
        return self.status != 404

    @property
    def reason(self) -> str:
        """What the registry says of an error, without names of Java classes."""
        if isinstance(self.content, dict):
            message = self.content.get("message") or self.content.get("title") or self.content
            return re.sub(r"^([\w.$]+(Exception|Error): )+", "", str(message))
        return str(self.content)


class RegistryHttp:
    """Sends JSON to one registry over kept connections."""

    def __init__(self, settings: RegistrySettings) -> None:
        self._url = settings.url
        self._timeout = settings.timeout_s
        self._session = requests.Session()
        self._session.headers.update({"Accept": f"{_JSON}, application/json", "Content-Type": _JSON})
        # Of a request, not of the session: REQUESTS_CA_BUNDLE would win over the session's.
        self._verify = None if settings.ca_location is None else str(settings.ca_location)
        if settings.certificate_location is not None:
            key = settings.key_location
            certificate = str(settings.certificate_location)
            self._session.cert = (certificate, str(key)) if key is not None else certificate
        if settings.username is not None:
            password = settings.password.get_secret_value() if settings.password else ""
            self._session.auth = (settings.username, password)
        elif settings.token is not None:
            self._session.auth = _Bearer(settings.token)

    def send(self, method: str, path: str, body: object = None) -> Answer:
        """Give the answer: a success, a 404, or another definite no (409, 422).

        Raises:
            RegistryUnavailable: not reachable, too slow, busy or failing.
            RegistryRefused: it does not let us in.
        """
        try:
            response = self._session.request(
                method, self._url + path, json=body, timeout=self._timeout, verify=self._verify
            )
        except (requests.exceptions.SSLError, requests.exceptions.InvalidSchema, OSError) as error:
            raise self._unreachable(error) from error
        if response.status_code >= 500 or response.status_code in _BUSY:
            raise RegistryUnavailable(
                f"the schema registry {self._url} is failing: HTTP {response.status_code} for {path}"
            )
        if response.status_code in (401, 403):
            raise RegistryRefused(
                f"the schema registry {self._url} does not let us in (HTTP {response.status_code}): check "
                "FOREBAY_SCHEMA_REGISTRY_USERNAME and _PASSWORD, or _TOKEN"
            )
        return Answer(response.status_code, _content(response))

    def _unreachable(self, error: Exception) -> Exception:
        if isinstance(error, requests.exceptions.SSLError):
            return RegistryRefused(
                f"no TLS connection to the schema registry {self._url}: {_cause(error)}; check "
                "FOREBAY_SCHEMA_REGISTRY_CA_LOCATION"
            )
        return RegistryUnavailable(
            f"the schema registry {self._url} is not reachable ({_cause(error)}); check that it runs and that "
            "FOREBAY_SCHEMA_REGISTRY_URL is right"
        )


class _Bearer(requests.auth.AuthBase):
    """A token; as a header of the session it would lose against ~/.netrc."""

    def __init__(self, token: SecretStr) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token.get_secret_value()}"
        return request


def _content(response: requests.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return response.text[:500]


def _cause(error: BaseException) -> str:
    """Give the innermost reason: requests wraps it three times."""
    while True:
        inner = error.__cause__ or getattr(error, "reason", None) or next(iter(error.args), None)
        if not isinstance(inner, BaseException):
            return str(error) or type(error).__name__
        error = inner
