"""A Sphinx extension: one reference page per folder of the package, from its public names."""

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx

FOLDERS = {
    "graph": "Graphs",
    "problem": "The objective and its certificate",
    "operator": "Elastic message passing",
    "nn": "Layers and networks",
    "features": "Sparse features",
    "data": "Data sets, own files, splits",
    "training": "Training",
    "tracking": "Callbacks and trackers",
    "distributed": "Several processes and machines",
    "solver": "The certified solver",
    "attack": "Attacks and inspection",
    "defence": "Defences of the field",
    "certify": "Certificates of robustness",
    "robustness": "Models under attack",
    "experiment": "Studies",
    "report": "Tables and pages",
}
# Public names that inherit from what an extra brings: imported from their module, not its folder.
BY_MODULE = {
    "nn": ("explain.explainable",),
    "solver": ("regressor.ElasticRegressor", "smoother.ElasticSmoother"),
}


def public_names(module: ModuleType) -> list[str]:
    """Names that the folder's contents list exports, sorted."""
    named = [name for name in vars(module) if not name.startswith("_")]
    return sorted(name for name in named if not inspect.ismodule(getattr(module, name)))


def names_of(folder: str) -> list[str]:
    """What the page of a folder shows: the names that it exports, and those of BY_MODULE."""
    module = importlib.import_module(f"elasticgnn.{folder}")
    return [*public_names(module), *BY_MODULE.get(folder, ())]


def find(name: str) -> Any:
    """The object of a name below `elasticgnn`, as in solver.minimise."""
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(f"elasticgnn.{module}"), last)


def directive(name: str) -> list[str]:
    """The autodoc directive for one public name."""
    value, path = find(name), f"elasticgnn.{name}"
    if inspect.isclass(value):
        foreign = [n for n in vars(value) if re.fullmatch(r"set_\w+_request", n)]  # scikit-learn's
        hidden = f"   :exclude-members: {', '.join(foreign)}"
        return [".. autoclass:: " + path, "   :members:", *([hidden] if foreign else []), ""]
    if inspect.isroutine(value):
        return [".. autofunction:: " + path, ""]
    return [".. autodata:: " + path, ""]


def page(folder: str, title: str) -> str:
    """reStructuredText of one folder's page."""
    module = importlib.import_module(f"elasticgnn.{folder}")
    head = [title, "=" * len(title), "", f"``elasticgnn.{folder}``: {inspect.getdoc(module)}", ""]
    body = [line for name in names_of(folder) for line in directive(f"{folder}.{name}")]
    return "\n".join([*head, *body])


def escape(line: str) -> str:
    """A line of a plain docstring as reStructuredText: only what stands in backticks is marked."""
    parts = line.split("`")
    parts[::2] = [re.sub(r"(?<=\w)_(?!\w)|[|*\\]", r"\\\g<0>", part) for part in parts[::2]]
    return "`".join(parts)


def as_rst(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: formulas set in by four spaces become literal blocks."""
    written: list[str] = []
    literal = example = False
    for line in lines:
        example = line.startswith(">>>") or (example and bool(line))
        if example:
            written.append(line)
            continue
        deep = line.startswith("    ")
        if deep and not literal and (not written or not written[-1]):
            written += ["::", ""]
            literal = True
        literal = literal and (deep or not line)
        written.append(line if literal else escape(line))
    lines[:] = written


def write_pages(app: Sphinx) -> None:
    """Writes reference/*.rst where their text changed, so that unchanged pages are not rebuilt."""
    folder = Path(app.srcdir) / "reference"
    for name, title in FOLDERS.items():
        path, text = folder / f"{name}.rst", page(name, title)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", as_rst)
    return {"parallel_read_safe": True}
