"""The files of this repository as git knows them, read once."""

import ast
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = ("mergebot/", "tests/")


@dataclass(frozen=True, slots=True)
class Source:
    """One Python file: where it is, its text and its syntax tree."""

    path: str
    text: str
    tree: ast.Module

    def at(self, node: ast.AST) -> str:
        """Name a place in this file as an editor understands it."""
        return f"{self.path}:{getattr(node, 'lineno', 1)}"


@cache
def files() -> tuple[str, ...]:
    """Return every tracked path that is there, relative to the root."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z"], check=True, capture_output=True, text=True
    ).stdout
    return tuple(path for path in listed.split("\0") if path and (ROOT / path).is_file())


def paths(*, under: tuple[str, ...] | str = "", ending: tuple[str, ...] | str = "") -> list[str]:
    """Return the tracked paths below `under` that end in `ending`."""
    return [path for path in files() if path.startswith(under) and path.endswith(ending)]


@cache
def text(path: str) -> str:
    """Return a tracked file's text; bytes that are no UTF-8 are replaced."""
    return (ROOT / path).read_text(encoding="utf-8", errors="replace")


@cache
def sources(under: tuple[str, ...] | str = CODE) -> tuple[Source, ...]:
    """Return the Python files below `under`, parsed."""
    found = paths(under=under, ending=".py")
    return tuple(Source(path, text(path), ast.parse(text(path), path)) for path in found)


def calls(source: Source) -> list[tuple[str, ast.Call]]:
    """Return each call in a file with the dotted name that it calls."""
    nodes = (node for node in ast.walk(source.tree) if isinstance(node, ast.Call))
    return [(ast.unparse(node.func), node) for node in nodes]


def functions(source: Source) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return every function and method in a file."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.walk(source.tree) if isinstance(node, kinds)]
