"""Contracts are found by service and name, in a checkout and in a wheel."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from forebay.serde import ContractMissing, InvalidSchema, LocalSchemas, contracts, list_contracts, load_contract


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "orders").mkdir()
    (tmp_path / "orders" / "Order.avsc").write_text('{"type": "record", "name": "Order", "fields": []}')
    (tmp_path / "orders" / "Broken.avsc").write_text('{"type": "record"')
    (tmp_path / "orders" / "notes.txt").write_text("not a contract")
    return tmp_path


def test_the_repositorys_contracts_are_found() -> None:
    assert "UserActivity" in list_contracts("user-sessions")
    assert load_contract("user-sessions", "UserActivity").name == "forebay.user_sessions.UserActivity"


def test_contracts_are_listed_in_order(root: Path) -> None:
    assert list_contracts("orders", root) == ("Broken", "Order")
    assert list_contracts("strangers", root) == ()


def test_missing_contract_error_lists_the_existing_contracts(root: Path) -> None:
    with pytest.raises(ContractMissing, match=r"Ordre\.avsc: orders has Broken, Order; did you mean Order\?"):
        load_contract("orders", "Ordre", root)


def test_missing_service_error_lists_the_existing_services(root: Path) -> None:
    with pytest.raises(ContractMissing, match="the services with contracts are orders"):
        load_contract("payments", "Payment", root)


def test_missing_folder_error_has_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(ContractMissing, match="is missing; install the wheel, or run from a checkout"):
        load_contract("orders", "Order", tmp_path / "nowhere")


def test_a_broken_contract_names_its_file(root: Path) -> None:
    with pytest.raises(InvalidSchema, match=r"Broken\.avsc: not an Avro schema"):
        load_contract("orders", "Broken", root)


def test_contracts_in_a_packed_wheel_are_found(root: Path, tmp_path: Path) -> None:
    wheel = tmp_path / "forebay.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(root / "orders" / "Order.avsc", "forebay/contracts/orders/Order.avsc")
    packed = zipfile.Path(wheel, "forebay/contracts/")
    assert list_contracts("orders", packed) == ("Order",)
    assert load_contract("orders", "Order", packed).name == "Order"


def test_local_schemas_give_each_schema_one_id() -> None:
    schemas = LocalSchemas()
    order = load_contract("user-sessions", "UserActivity")
    stats = load_contract("user-sessions", "UserSessionStats")
    assert [schemas.register(s).schema_id for s in (order, stats, order)] == [1, 2, 1]
    assert schemas.schema(2) is stats


def test_folder_next_to_the_installed_packages_does_not_hide_contracts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "avro").mkdir()
    packed = tmp_path / "forebay" / "contracts" / "user-sessions"
    packed.mkdir(parents=True)
    (packed / "UserActivity.avsc").write_text('{"type": "record", "name": "UserActivity", "fields": []}')
    monkeypatch.setattr(contracts, "_CHECKOUT", tmp_path / "avro")
    monkeypatch.setattr("forebay.serde.contracts.resources.files", lambda _: tmp_path / "forebay")
    assert list_contracts("user-sessions") == ("UserActivity",)
