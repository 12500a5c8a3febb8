"""The folder table of docs/architecture.md: who may import whom."""

import ast
from pathlib import Path

import pytest

import elasticgnn

PACKAGE = Path(elasticgnn.__file__).parent

MAY_IMPORT = {
    "kernels": "",
    "graph": "kernels",
    "features": "kernels",
    "problem": "graph",
    "operator": "kernels graph problem",
    "solver": "kernels graph problem operator",
    "nn": "graph features problem operator",
    "data": "graph features",
    "training": "kernels graph features problem operator data nn",
    "attack": "kernels graph features problem operator data nn training",
    "experiment": "kernels graph features problem operator solver data nn training attack",
    "report": "experiment data graph",
}


def imported_folders(source: str) -> set[str]:
    dotted = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            dotted |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            dotted |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in dotted if name.startswith("elasticgnn.")}


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_folder_imports_only_what_it_may(folder):
    for path in (PACKAGE / folder).rglob("*.py"):
        allowed = {folder, "__version__", *MAY_IMPORT[folder].split()}
        extra = imported_folders(path.read_text()) - allowed
        assert not extra, f"{path.relative_to(PACKAGE)} imports {sorted(extra)}"


def test_every_folder_is_in_the_table():
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders == {*MAY_IMPORT, "cli"}
