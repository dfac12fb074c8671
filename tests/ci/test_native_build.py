"""Installation compiles the native code with any available compiler, or reports that there is none."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sysconfig
from pathlib import Path

import pytest

import hatch_build

pytestmark = pytest.mark.long

SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
TRIVIAL = "def answer():\n    return 42\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "trivial.pyx"
    file.write_text(TRIVIAL)
    return file


needs_headers = pytest.mark.skipif(hatch_build.headers() is None, reason="Python's headers are not installed")


@needs_headers
@pytest.mark.skipif(not hatch_build.system_compilers(), reason="there is no C compiler")
def test_a_compiler_that_fails_gives_way_to_the_next(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "false")
    target = tmp_path / "out" / f"trivial{SUFFIX}"
    hatch_build.build(source, target)
    loader = importlib.machinery.ExtensionFileLoader("trivial", str(target))
    spec = importlib.util.spec_from_loader("trivial", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    assert module.answer() == 42


@needs_headers
def test_source_that_does_not_compile_is_reported(source: Path, tmp_path: Path) -> None:
    source.write_text("cdef nonsense(:\n")
    with pytest.raises(hatch_build.CannotBuild, match=r"cython -3 \.\.\. failed: "):
        hatch_build.build(source, tmp_path / f"trivial{SUFFIX}")


def test_missing_headers_are_reported_with_the_package_to_install(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    with pytest.raises(hatch_build.CannotBuild, match=r"Python\.h is missing .* apt install python3-dev"):
        hatch_build.build(source, tmp_path / f"trivial{SUFFIX}")


@needs_headers
def test_a_machine_without_a_compiler_asks_for_one_from_the_index(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FOREBAY_NATIVE", raising=False)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert hatch_build.compiler_packages() == ["ziglang"]
    with pytest.raises(hatch_build.CannotBuild, match="there is no C compiler: install one, or pip install ziglang"):
        hatch_build.build(source, tmp_path / f"trivial{SUFFIX}")
    monkeypatch.setenv("FOREBAY_NATIVE", "off")
    assert hatch_build.compiler_packages() == []


def hook(tmp_path: Path) -> hatch_build.NativeCode:
    source = tmp_path / hatch_build.LIBRARY / hatch_build.SOURCES[0]
    source.parent.mkdir(parents=True)
    source.write_text("cdef nonsense(:\n")
    return hatch_build.NativeCode(str(tmp_path), {}, None, None, str(tmp_path / "dist"), "wheel")  # type: ignore[arg-type]


def test_a_wheel_is_pure_where_nothing_can_be_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FOREBAY_NATIVE", raising=False)
    build_data: dict[str, object] = {"force_include": {}}
    hook(tmp_path).initialize("standard", build_data)
    assert build_data == {"force_include": {}}
    assert "forebay is installed without native code: " in capsys.readouterr().err


def test_required_fields_are_not_omitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREBAY_NATIVE", "required")
    with pytest.raises(hatch_build.CannotBuild):
        hook(tmp_path).initialize("standard", {"force_include": {}})
