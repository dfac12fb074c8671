"""Contracts of services: /avro/<service>/<Name>.avsc in a checkout, package data in a wheel.

The contracts of a package's service are in the folder `avro` next to its job, or in a folder that its entry names.
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
    """There is no such contract. The message lists the existing ones."""


def contracts_root() -> Traversable:
    """Return the folder of contracts: `forebay/contracts` of an installed package, otherwise that of the checkout.

    An installed package must not use the path of a checkout, because any folder named `avro` may be there.
    """
    packed = resources.files("forebay") / "contracts"
    return packed if packed.is_dir() else _CHECKOUT


def list_contracts(service: str, root: Traversable | None = None) -> tuple[str, ...]:
    """Return the sorted names of a service's contracts; () if the service has no folder."""
    folder = contracts_folder(service, root)
    if not folder.is_dir():
        return ()
    return tuple(sorted(file.name.removesuffix(_SUFFIX) for file in folder.iterdir() if file.name.endswith(_SUFFIX)))


def load_contract(service: str, name: str, root: Traversable | None = None) -> Schema:
    """Return the contract `name` of a service.

    Raises:
        ContractMissing: There is no such file.
        InvalidSchema: The file does not contain an Avro schema. The message names the file.
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
    """Return the folder of a service's contracts, which need not exist."""
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
