"""Compiles the native codec and the native tables while the package is installed or its wheel is built.

The system's compiler is used. If it is missing, the package ziglang provides one. If Python's headers are missing, the
package is installed without native code. With FOREBAY_NATIVE=required (images, CI), this is an error. With
FOREBAY_NATIVE=off, nothing is compiled.
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
    """Native code can't be built on this machine. The message contains the reason and what to install."""


class NativeCode(BuildHookInterface[Any]):
    """Adds the extensions to a wheel. In an editable installation, each extension is next to its source."""

    def dependencies(self) -> list[str]:
        """Return the package with a compiler if one is needed."""
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
    """Return the package with a compiler; [] if the system has one, or if native code can't or must not be built."""
    return [] if system_compilers() or not headers() or switch() == "off" else ["ziglang"]


def switch() -> str:
    """Return the value of FOREBAY_NATIVE in lower case."""
    return os.environ.get("FOREBAY_NATIVE", "").lower()


def headers() -> Path | None:
    """Return the folder of Python's headers; None if they are missing."""
    folder = Path(sysconfig.get_path("include"))
    return folder if (folder / "Python.h").is_file() else None


def system_compilers() -> list[list[str]]:
    """Return the commands of the system's C compilers, beginning with that of the variable CC."""
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
    """Run a command. Raises CannotBuild with the last line of its output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        raise CannotBuild(f"{shlex.join(command[:4])} ... failed: {said[-1]}")
