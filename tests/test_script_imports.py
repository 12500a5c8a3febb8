"""Scripts that no test runs whole still find what they import from the package and each other."""

import ast
import importlib
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("benchmarks", "examples", "scripts", "studies")
SCRIPTS = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def imported(path):
    """Module and name of every `from ... import ...` of the file."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.module, alias.name) for alias in node.names)


def names_of(path):
    """What a script of the repository defines at its top level."""
    found = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {name.id for part in node.targets for name in ast.walk(part)
                      if isinstance(name, ast.Name)}  # fmt: skip
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
    return found


def has(module, name):
    """Whether the package's module has the name, as its own or as a module below it."""
    if hasattr(importlib.import_module(module), name):
        return True
    return importlib.util.find_spec(f"{module}.{name}") is not None


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_names_imported_by_a_script_exist(path):
    beside = {other.stem: other for other in path.parent.glob("*.py")}
    for module, name in imported(path):
        if module.partition(".")[0] == "elasticgnn":
            assert has(module, name), f"{module} has no {name}"
        elif module in beside:
            assert name in names_of(beside[module]), f"{beside[module].name} has no {name}"
