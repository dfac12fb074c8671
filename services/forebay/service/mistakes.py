"""Errors in a service's files, as messages with the file, the line and the reason."""

from __future__ import annotations

import difflib
import os
import sysconfig
import traceback
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

_LIBRARY = Path(__file__).resolve().parents[1]
_FOREIGN = (_LIBRARY, *(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")))


class Mistake(Exception):
    """An error in a service's files. The message names the file and the line, and says what to do.

    Args:
        line: Source line, which is printed above the message.
    """

    def __init__(self, message: str, line: str = "") -> None:
        super().__init__(message)
        self.log_tail = line


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file, as it is reported to its author. `function` is "" outside of a function."""

    file: str
    line: int
    function: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}" + (f", in {self.function}" if self.function else "")


def mistake(error: BaseException, package: str, doing: str) -> Mistake:
    """Return the message for an error that a service's files caused.

    If the class of the error has `names_its_place = True`, its text already names the file and is used unchanged.

    Args:
        package: Package of the service.
        doing: What failed, for an error whose traceback contains no line of the service's files.
    """
    if getattr(error, "names_its_place", False):
        return Mistake(str(error))
    place = place_of(error, package)
    said = f"{type(error).__name__}: {_describe(error)}" if place else _describe(error)
    return Mistake(f"{place or doing}: {said}", f"{place}:\n    {place.text}" if place and place.text else "")


def place_of(error: BaseException, package: str) -> Place | None:
    """Return the innermost line of the package's files in an error's traceback, or None.

    If the traceback contains no line of these files, return the innermost line of a file that belongs neither to
    Python, nor to an installed library, nor to Forebay.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return Place(_relative(error.filename), error.lineno or 1, "", (error.text or "").strip())
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_absolute()]
    own = _folder(package)
    mine = [frame for frame in frames if own is not None and _lies_in(frame.filename, own)]
    others = [frame for frame in frames if not any(_lies_in(frame.filename, folder) for folder in _FOREIGN)]
    # The last frame is the innermost one. If no frame is in the user's package, a file of another package is the best
    # guess.
    frame = next(reversed(mine or others), None)
    if frame is None:
        return None
    function = "" if frame.name == "<module>" else frame.name
    return Place(_relative(frame.filename), frame.lineno or 1, function, frame.line or "")


def _describe(error: BaseException) -> str:
    """Return an error's text, followed by the name that was probably meant."""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    near = _meant(error)
    return (text or type(error).__name__) + (f"; did you mean {near!r}?" if near else "")


def _meant(error: BaseException) -> str:
    """Return the name that is most similar to the missing one; "" if no name is similar."""
    known: list[str] = []
    if isinstance(error, AttributeError) and error.obj is not None:
        known = [name for name in dir(error.obj) if not name.startswith("__")]
    elif isinstance(error, NameError) and error.__traceback__ is not None:
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        known = [*frame.f_locals, *frame.f_globals]
    name = getattr(error, "name", None)
    return next(iter(difflib.get_close_matches(name, known, n=1)), "") if name else ""


def _folder(package: str) -> Path | None:
    """Return the folder or file of a package, or None if it can't be found."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError, AttributeError):
        return None
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin).resolve()
    return file.parent if spec.submodule_search_locations else file


def _lies_in(file: str, folder: Path) -> bool:
    return Path(file).resolve().is_relative_to(folder)


def _relative(file: str) -> str:
    """Return the path of a file, relative to the current directory if it is inside of it."""
    near = os.path.relpath(file)
    return file if near.startswith(os.pardir) else near
