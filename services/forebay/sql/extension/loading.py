"""Loading of user-defined functions from files, and from packages with the entry point `forebay.sql_functions`."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

from forebay.service.mistakes import mistake
from forebay.service.plugins import Named, yield_modules
from forebay.sql.errors import NOWHERE, SqlError

GROUP = "forebay.sql_functions"
VARIABLE = "FOREBAY_SQL_FUNCTIONS"
"""Environment variable that names files with functions. Child processes and Spark's workers inherit it."""


def load_functions() -> None:
    """Load the functions of packages and of the files that the environment variable names.

    Packages and files that are already loaded are skipped. Raises SqlError.
    """
    for package in yield_modules(GROUP):
        _load_module(package)
    for file in os.environ.get(VARIABLE, "").split(os.pathsep):
        if file:
            load_file(Path(file))


@cache
def _load_module(package: Named) -> None:
    try:
        importlib.import_module(package.module)
    except SqlError:
        raise
    except Exception as error:  # a module may raise anything
        raise SqlError(NOWHERE, str(mistake(error, package.module, f"the functions of {package.place}"))) from error


@cache
def load_file(path: Path) -> ModuleType:
    """Load the functions of a file, unless it is loaded. The file may import files in its folder. Raises SqlError."""
    name = f"forebay_sql_functions_{path.stem}"
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SqlError(NOWHERE, f"{path} is not a file of Python: name one that ends in .py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SqlError:
        raise
    except Exception as error:  # a file may raise anything
        raise SqlError(NOWHERE, str(mistake(error, name, f"the functions of {path}"))) from error
    return module
