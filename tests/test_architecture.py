"""The table of docs/architecture.md is true in both directions: who imports whom."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import elasticgnn

PACKAGE = Path(elasticgnn.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
ROW = re.compile(r"^\| `(\w+)(?:/|\.py)` \|.*\| ([^|]*) \|$", re.MULTILINE)
MAY_IMPORT = {
    name: set(text.replace("—", "").split()) for name, text in ROW.findall(PAGE.read_text())
}
PART = re.compile(r"^\| ([\w/]+) \| [^|]* \| ([\w ]+) \|$", re.MULTILINE)
_HEAD, *PARTS = PART.findall(PAGE.read_text())
FOLDERS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
MODULES = sorted({path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"})


def imported_folders(source: str) -> set[str]:
    """What a module imports of the package: folders, or modules that stand beside them."""
    dotted = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            dotted |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            dotted |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in dotted if name.startswith("elasticgnn.")}


def imports_of(name: str) -> dict[str, set[str]]:
    """Per file of a folder, or of a module beside them, what it imports of the package."""
    files = (PACKAGE / name).rglob("*.py") if name in FOLDERS else [PACKAGE / f"{name}.py"]
    return {str(path.relative_to(PACKAGE)): imported_folders(path.read_text()) for path in files}


@pytest.mark.parametrize("name", [name for name in (*FOLDERS, *MODULES) if name != "cli"])
def test_a_part_imports_what_its_row_names_and_nothing_else(name):
    found = imports_of(name)
    extra = {path: names - MAY_IMPORT[name] - {name} for path, names in found.items()}
    assert not {path: names for path, names in extra.items() if names}
    unused = MAY_IMPORT[name] - set().union(*found.values())
    assert not unused, f"no file of {name} imports {sorted(unused)}"


def test_every_folder_and_module_has_a_row():
    assert set(MAY_IMPORT) == {*FOLDERS, *MODULES}
    assert MAY_IMPORT["cli"] == {"all"}


LARGE = sorted(
    str(path.parent.relative_to(PACKAGE))
    for name in ("solver", "training", "nn", "distributed")
    for path in (PACKAGE / name).rglob("__init__.py")
)


def test_every_folder_of_a_large_part_has_a_row():
    assert sorted({name for name, _ in PARTS}) == LARGE


@pytest.mark.parametrize("folder", LARGE)
def test_every_module_of_a_large_part_is_in_one_row_of_its_folder(folder):
    listed = [module for name, modules in PARTS if name == folder for module in modules.split()]
    there = {path.stem for path in (PACKAGE / folder).glob("*.py")} - {"__init__"}
    assert sorted(listed) == sorted(there)


ORDERED = ("solver", "training")
ROW_OF = {
    (folder, module): number
    for number, (folder, modules) in enumerate(PARTS)
    for module in modules.split()
}


def imported_modules(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Folder and module of each import at run time, and of names that may be modules."""
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or id(node) in for_types:
            continue
        folder, _, module = str(node.module).removeprefix("elasticgnn.").rpartition(".")
        yield folder.replace(".", "/"), module
        inner = str(node.module).removeprefix("elasticgnn.").replace(".", "/")
        yield from ((inner, alias.name) for alias in node.names)


def upward_imports(folder: str, module: str, source: str) -> list[tuple[str, str]]:
    """What a module imports from a row above its own."""
    own = ROW_OF[folder, module]
    found = imported_modules(ast.parse(source))
    return [each for each in found if ROW_OF.get(each, own) < own]


@pytest.mark.parametrize("name", ORDERED)
def test_a_module_imports_from_its_own_row_and_those_below(name):
    found = {
        f"{folder}/{module}": upward_imports(
            folder, module, (PACKAGE / folder / f"{module}.py").read_text()
        )
        for folder, module in ROW_OF
        if folder.split("/")[0] == name
    }
    assert not {module: above for module, above in found.items() if above}


@pytest.mark.parametrize(
    ("line", "above"),
    [
        ("from elasticgnn.solver.minimise import minimise", [("solver", "minimise")]),
        (
            "from elasticgnn.solver.interior_point import precise",
            [("solver/interior_point", "precise")],
        ),
        ("def f():\n    from elasticgnn.solver.found import Found", [("solver", "found")]),
        ("from elasticgnn.solver.problem.instance import Instance", []),
        ("if TYPE_CHECKING:\n    from elasticgnn.solver.solution import Solution", []),
    ],
)
def test_an_import_from_a_row_above_is_found(line, above):
    assert upward_imports("solver/certificate", "measure", line) == above


def test_a_folder_is_entered_through_a_contents_list():
    strange = []
    for path in PACKAGE.glob("*/**/__init__.py"):
        rest = ast.parse(path.read_text()).body[1:]
        listed = all(
            isinstance(node, ast.ImportFrom)
            and all(each.asname == each.name for each in node.names)
            for node in rest
        )
        strange += [] if listed else [str(path.relative_to(PACKAGE))]
    assert not strange


def public_objects(node: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, ast.AST]]:
    """Classes, functions, methods and properties without a leading underscore."""
    for inner in node.body:
        if not isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        marks = {ast.unparse(mark).rpartition(".")[2] for mark in inner.decorator_list}
        if inner.name.startswith("_") or marks & {"overload", "setter"}:
            continue
        yield f"{prefix}{inner.name}", inner
        if isinstance(inner, ast.ClassDef):
            yield from public_objects(inner, f"{prefix}{inner.name}.")


def test_every_public_object_says_what_comes_out():
    silent = []
    for path in PACKAGE.rglob("*.py"):
        tree, name = ast.parse(path.read_text()), str(path.relative_to(PACKAGE))
        found = [(name, tree), *public_objects(tree, f"{name}: ")]
        silent += [label for label, node in found if not first_line(node)]
    assert not silent, f"no docstring whose first line is a sentence: {sorted(silent)}"


def first_line(node: ast.AST) -> str:
    """The first line of a docstring, if it is a sentence or opens one; else nothing."""
    line = (ast.get_docstring(node) or "").partition("\n")[0]
    return line if len(line) > 2 and line[-1] not in ",;-" else ""


MADE = {
    "Generator",
    "manual_seed",
    "default_rng",
    "tensor",
    "zeros",
    "get_num_threads",
}  # nothing computed


def computations(source: str) -> set[str]:
    """What a module takes from torch and numpy to compute with; types do not count."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = ast.unparse(node.func)
            if name.partition(".")[0] in ("torch", "np", "numpy", "F"):
                found.add(name.rpartition(".")[2])
    return found - MADE


def test_the_command_line_computes_nothing():
    assert computations("torch.stack([a]); f.sum(); np.random.default_rng(0)") == {"stack"}
    found = {path.name: computations(path.read_text()) for path in PACKAGE.glob("cli/*.py")}
    assert {name: names for name, names in found.items() if names} == {}
