"""Requests to a schema registry, which distinguish the kinds of failure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import requests

from forebay.kafka.errors import RegistryRefused
from forebay.kafka.registry_settings import RegistrySettings
from forebay.kafka.secret import Secret
from forebay.serde.resolver import RegistryUnavailable

_JSON = "application/vnd.schemaregistry.v1+json"
_BUSY = frozenset({408, 425, 429})


_SUCCESS = 200
_REFUSALS = frozenset({400, 404, 409, 422})


@dataclass(frozen=True, slots=True)
class Answer:
    """A response of the registry itself: HTTP status and JSON object."""

    status: int
    content: dict[str, Any]

    @property
    def reason(self) -> str:
        """The registry's error message, without names of Java classes."""
        message = self.content.get("message") or self.content.get("title") or self.content
        return re.sub(r"^([\w.$]+(Exception|Error): )+", "", str(message))


class RegistryHttp:
    """Sends JSON to one registry over persistent connections."""

    def __init__(self, settings: RegistrySettings) -> None:
        self._url = settings.url
        self._timeout = settings.timeout_s
        self._session = requests.Session()
        self._session.headers.update({"Accept": f"{_JSON}, application/json", "Content-Type": _JSON})
        # An argument of each request, because REQUESTS_CA_BUNDLE would override that of the session.
        self._verify = None if settings.ca_location is None else str(settings.ca_location)
        if settings.certificate_location is not None:
            key = settings.key_location
            certificate = str(settings.certificate_location)
            self._session.cert = (certificate, str(key)) if key is not None else certificate
        if settings.username is not None:
            password = settings.password.reveal() if settings.password else ""
            # Encode as UTF-8, because `requests` would encode text as Latin-1, and fail for other letters.
            self._session.auth = requests.auth.HTTPBasicAuth(settings.username.encode(), password.encode())
        elif settings.token is not None:
            self._session.auth = _Bearer(settings.token)

    def send(self, method: str, path: str, body: object = None) -> Answer:
        """Return the registry's own response: a success, or a refusal with the registry's error code.

        Raises:
            RegistryUnavailable: the registry is not reachable, too slow, busy or failing; or the response is that of
                another server (an ingress while the registry is replaced, or a login page).
            RegistryRefused: the registry refuses the login.
        """
        try:
            response = self._session.request(
                method,
                self._url + path,
                json=body,
                timeout=self._timeout,
                verify=self._verify,
                # The target of a redirect, such as a login page, is not the registry. Its responses once made good
                # records go to `.errors`.
                allow_redirects=False,
            )
        except (requests.exceptions.SSLError, requests.exceptions.InvalidSchema, OSError) as error:
            raise self._unreachable(error) from error
        if response.status_code >= 500 or response.status_code in _BUSY:
            raise RegistryUnavailable(
                f"the schema registry {self._url} is failing: HTTP {response.status_code} for {path}"
            )
        if response.status_code in (401, 403):
            raise RegistryRefused(
                f"the schema registry {self._url} refuses the login (HTTP {response.status_code}): check "
                "FOREBAY_SCHEMA_REGISTRY_USERNAME and _PASSWORD, or _TOKEN"
            )
        # An ingress or a login page may answer 200 or 404, too. Only a registry's own JSON decides about a record.
        content = _content(response)
        if content is None or not (response.status_code == _SUCCESS or _is_refusal(response.status_code, content)):
            raise RegistryUnavailable(self._no_registry(response, path))
        return Answer(response.status_code, content)

    def _no_registry(self, response: requests.Response, path: str) -> str:
        kind = response.headers.get("Content-Type", "no content type")
        place = f", to {response.headers['Location']}" if "Location" in response.headers else ""
        return (
            f"{self._url} does not answer as a schema registry does: HTTP {response.status_code} ({kind}{place}) for "
            f"{path}; is something else in its place, or is FOREBAY_SCHEMA_REGISTRY_URL wrong?"
        )

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
    """Authentication by a token. As a header of the session, ~/.netrc would override it."""

    def __init__(self, token: Secret) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token.reveal()}"
        return request


def _content(response: requests.Response) -> dict[str, Any] | None:
    """Return the JSON object of a response; None if it is anything else."""
    try:
        content = response.json()
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _is_refusal(status: int, content: dict[str, Any]) -> bool:
    """Return whether a response is the registry's own refusal: its code is the status, with or without two more digits.

    An example is 40403. A code of 404 is the response of its web server to an unknown path.
    """
    code = content.get("error_code")
    if status not in _REFUSALS or not isinstance(code, int):
        return False
    return code // 100 == status or (code == status and status != 404)


def _cause(error: BaseException) -> str:
    """Return the innermost reason of an error, which requests wraps three times."""
    while True:
        inner = error.__cause__ or getattr(error, "reason", None) or next(iter(error.args), None)
        if not isinstance(inner, BaseException):
            return str(error) or type(error).__name__
        error = inner
