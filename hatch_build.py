"""Compiles the native codec and the native tables while the package is installed or its wheel is built.

A compiler is the system's, or ziglang's from the package index where the system has none. Without Python's headers
there is none to be had: then the package is installed without native code. FOREBAY_NATIVE=required makes that an
error (images, CI), FOREBAY_NATIVE=off doesn't try.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARY = "services"
SOURCES = ("forebay/serde/native.pyx", "forebay/stores/native.pyx")
FLAGS = ("-O3", "-fPIC", "-DNDEBUG", "-fwrapv", "-fno-strict-aliasing", "-fno-sanitize=undefined", "-w")
BUNDLE = ("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()


class CannotBuild(Exception):
    """There is no native code on this machine; the message says why and what to install."""


class NativeCode(BuildHookInterface[Any]):
    """Adds the extensions to a wheel; an editable installation gets each next to its source."""

    def dependencies(self) -> list[str]:
        """Ask for a compiler from the package index where it would be of use."""
        return compiler_packages()

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or switch() == "off":
            return
        try:
            for source in SOURCES:
                self._add(Path(source), version, build_data)
        except CannotBuild as reason:
            if switch() == "required":
                raise
            self.app.display_warning(f"forebay is installed without native code: {reason}")

    def _add(self, source: Path, version: str, build_data: dict[str, Any]) -> None:
        place = source.with_name(f"{source.stem}{sysconfig.get_config_var('EXT_SUFFIX')}")
        if version == "editable":
            build(Path(self.root, LIBRARY, source), Path(self.root, LIBRARY, place))
            return
        target = Path(self.directory, "-".join(place.parts))
        build(Path(self.root, LIBRARY, source), target)
        build_data["force_include"][str(target)] = place.as_posix()
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        for built in build_data["force_include"]:
            if built.endswith(".so"):
                Path(built).unlink(missing_ok=True)


def compiler_packages() -> list[str]:
    """Return the packages with a compiler, none where the system has one or where it would be of no use."""
    return [] if system_compilers() or not headers() or switch() == "off" else ["ziglang"]


def switch() -> str:
    """Return what FOREBAY_NATIVE says."""
    return os.environ.get("FOREBAY_NATIVE", "").lower()


def headers() -> Path | None:
    """Return the folder of Python's headers, if they are there."""
    folder = Path(sysconfig.get_path("include"))
    return folder if (folder / "Python.h").is_file() else None


def system_compilers() -> list[list[str]]:
    """Return the commands of the system's C compilers, the one asked for (CC) first."""
    asked = [shlex.split(os.environ["CC"])] if os.environ.get("CC") else []
    return [command for command in (*asked, ["cc"], ["gcc"], ["clang"]) if shutil.which(command[0])]


def build(source: Path, target: Path) -> None:
    """Compile `source` to the extension `target`. Raises CannotBuild."""
    include = headers()
    if include is None:
        raise CannotBuild(
            f"{sysconfig.get_path('include')}/Python.h is missing (Debian, Ubuntu: apt install python3-dev)"
        )
    compilers = system_compilers()
    if importlib.util.find_spec("ziglang"):
        compilers.append([sys.executable, "-m", "ziglang", "cc"])
    if not compilers:
        raise CannotBuild("there is no C compiler: install one, or pip install ziglang")
    with TemporaryDirectory() as folder:
        unit = Path(folder, "native.c")
        run([sys.executable, "-m", "cython", "-3", str(source), "-o", str(unit)])
        target.parent.mkdir(parents=True, exist_ok=True)
        output = Path(folder, target.name)
        for number, compiler in enumerate(compilers, 1):
            try:
                run([*compiler, "-shared", *BUNDLE, *FLAGS, f"-I{include}", str(unit), "-o", str(output)])
                break
            except CannotBuild:
                if number == len(compilers):
                    raise
        shutil.move(output, target)


def run(command: list[str]) -> None:
    """Run a step. Raises CannotBuild with the last line of what it said."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["it said nothing"]
        raise CannotBuild(f"{shlex.join(command[:4])} ... failed: {said[-1]}")
