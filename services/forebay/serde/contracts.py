"""Where contracts are kept: /avro/<service>/<Name>.avsc in a checkout, package data in a wheel.

A service of a package has them in the folder `avro` next to its job, or in one that its entry names.
"""

from __future__ import annotations

import difflib
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from forebay.catalog import UnknownService, find_service
from forebay.serde.schema import InvalidSchema, Schema

_SUFFIX = ".avsc"
_CHECKOUT = Path(__file__).resolve().parents[3] / "avro"


class ContractMissing(Exception):
    """There is no such contract; the message names those there are."""


def contracts_root() -> Traversable:
    """Return the folder of contracts: the one packed into `forebay/contracts`, else the checkout's.

    An installed package is never asked for a checkout: any folder named `avro` may lie where that would be.
    """
    packed = resources.files("forebay") / "contracts"
    return packed if packed.is_dir() else _CHECKOUT


def list_contracts(service: str, root: Traversable | None = None) -> tuple[str, ...]:
    """Return the names of a service's contracts in order; none if the service has no folder."""
    folder = contracts_folder(service, root)
    if not folder.is_dir():
        return ()
    return tuple(sorted(file.name.removesuffix(_SUFFIX) for file in folder.iterdir() if file.name.endswith(_SUFFIX)))


def load_contract(service: str, name: str, root: Traversable | None = None) -> Schema:
    """Return the contract `name` of `service`, checked.

    Raises:
        ContractMissing: no such file.
        InvalidSchema: the file holds no Avro schema; names the file.
    """
    file = contracts_folder(service, root) / f"{name}{_SUFFIX}"
    if not file.is_file():
        raise ContractMissing(f"there is no contract {file}: {_remedy(service, name, root)}")
    schema = Schema(file.read_text(encoding="utf-8"))
    try:
        _ = schema.type
    except InvalidSchema as error:
        raise InvalidSchema(f"{file}: {error}") from error
    return schema


def contracts_folder(service: str, root: Traversable | None = None) -> Traversable:
    """Return the folder of a service's contracts, whether or not it is there."""
    base = root or contracts_root()
    folder = base / service
    if root is not None or folder.is_dir():
        return folder
    try:
        brought = find_service(service)
    except UnknownService:
        return folder
    return Path(brought.contracts) if brought.contracts else resources.files(brought.package) / "avro"


def _remedy(service: str, name: str, root: Traversable | None) -> str:
    known = list_contracts(service, root)
    if known:
        near = difflib.get_close_matches(name, known, n=1)
        return f"{service} has {', '.join(known)}" + (f"; did you mean {near[0]}?" if near else "")
    base = root or contracts_root()
    if not base.is_dir():
        return f"the folder {base} is missing; install the wheel, or run from a checkout"
    services = sorted(folder.name for folder in base.iterdir() if folder.is_dir())
    return f"the services with contracts are {', '.join(services) or 'none'}"
