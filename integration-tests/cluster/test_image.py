"""The service image is small, and contains everything that Forebay imports."""

from __future__ import annotations

from cluster.kube import run

LARGEST = 540_000_000

FIND_MISSING = """
import ast, importlib.util, pathlib, forebay

def imports(tree):
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module
        yield from imports(node)

def is_missing(name):
    try:
        return importlib.util.find_spec(name) is None
    except ModuleNotFoundError:
        return True

files = pathlib.Path(forebay.__file__).parent.rglob("*.py")
names = {name for file in files for name in imports(ast.parse(file.read_text()))}
assert "pyspark.sql" in names and "kubernetes" in names
print(*sorted(filter(is_missing, names)))
"""
"""Program that prints the modules that Forebay imports anywhere, even in functions, but that the image lacks."""


def test_the_image_is_small(image_tag: str) -> None:
    size = run("docker", "image", "inspect", "--format", "{{.Size}}", f"forebay:{image_tag}")
    assert int(size) < LARGEST


def test_every_imported_module_is_in_the_image(image_tag: str) -> None:
    command = ("docker", "run", "--rm", "--interactive", "--entrypoint", "python", f"forebay:{image_tag}", "-")
    assert run(*command, given=FIND_MISSING).split() == []
