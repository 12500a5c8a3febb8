"""Optional libraries: every import of one says which extra brings it."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import elasticgnn
from elasticgnn.extras import EXTRA_OF, MissingExtraError, optional_imports

PACKAGE = Path(elasticgnn.__file__).parent
PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
DISTRIBUTION_OF = {"PIL": "pillow", "sklearn": "scikit-learn", "mlflow": "mlflow-skinny"}


def guarded(tree: ast.Module) -> set[int]:
    """Lines inside `with optional_imports()` or `if TYPE_CHECKING`."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        heads = [item.context_expr for item in node.items] if isinstance(node, ast.With) else []
        heads += [node.test] if isinstance(node, ast.If) else []
        if any(ast.unparse(h) in ("optional_imports()", "TYPE_CHECKING") for h in heads):
            lines |= set(range(node.lineno, (node.end_lineno or 0) + 1))
    return lines


def optional_libraries(node: ast.AST) -> set[str]:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    return {name.partition(".")[0] for name in names} & EXTRA_OF.keys()


def test_every_optional_import_names_its_extra_where_it_is_missing():
    bare = []
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        inside = guarded(tree)
        bare += [
            f"{path.relative_to(PACKAGE)}:{node.lineno} {library}"
            for node in ast.walk(tree)
            for library in optional_libraries(node) - {"typer"}  # guarded once, in cli/__main__
            if node.lineno not in inside
        ]
    assert not bare


@pytest.mark.parametrize("library", EXTRA_OF)
def test_the_extra_that_is_named_brings_the_library(library):
    wanted = DISTRIBUTION_OF.get(library, library)
    listed = PROJECT["optional-dependencies"][EXTRA_OF[library]]
    assert wanted in {re.split(r"[<>=\[]", requirement)[0] for requirement in listed}


def test_the_core_needs_torch_numpy_and_scipy_alone():
    names = {re.split(r"[<>=]", requirement)[0] for requirement in PROJECT["dependencies"]}
    assert names == {"torch", "numpy", "scipy"}


def test_a_missing_library_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    sentence = r"pip install 'elasticgnn\[study\]'"
    with pytest.raises(MissingExtraError, match=sentence), optional_imports():
        import optuna  # noqa: F401  its absence is the test


def test_a_missing_module_of_ones_own_is_not_explained_away():
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), optional_imports():
        import no_such_module  # noqa: F401  its absence is the test


def test_the_tool_without_its_extra_is_one_line_and_code_2():
    code = "import sys; sys.modules['typer'] = None\nfrom elasticgnn.__main__ import main\nmain()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "error: typer is needed here and not installed: pip install 'elasticgnn[cli]'"
    ]


def test_a_missing_library_is_one_line_of_a_command_and_no_defect(monkeypatch, capsys):
    from elasticgnn.cli import __main__ as tool

    def missing():
        raise MissingExtraError("sklearn is needed here and not installed", name="sklearn")

    monkeypatch.setattr(tool, "build_app", lambda: lambda args: missing())
    with pytest.raises(SystemExit) as ended:
        tool.main(["train"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == "error: sklearn is needed here and not installed\n"
