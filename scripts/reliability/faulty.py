"""A pytest plugin that loads one module with one fault in it; no file is changed."""

from __future__ import annotations

import ast
import os
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

COMPARE = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
BINARY = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
BOOLEAN = {ast.And: ast.Or, ast.Or: ast.And}


class Faults(ast.NodeTransformer):
    """Puts in fault number `wanted` (none if it is -1); `places` lists what can be put in where."""

    def __init__(self, wanted: int = -1) -> None:
        self.wanted = wanted
        self.places: list[tuple[int, str]] = []

    def here(self, node: ast.expr, what: str) -> bool:
        self.places.append((node.lineno, what))
        return len(self.places) - 1 == self.wanted

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node  # its type is no behaviour

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.args.defaults = [self.visit(value) for value in node.args.defaults]
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.body = [self.visit(statement) for statement in node.body]
        return node  # decorators such as dataclass(frozen=True) are left as they are

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        new = COMPARE.get(type(node.ops[0]))
        if new and self.here(node, f"{type(node.ops[0]).__name__} becomes {new.__name__}"):
            node.ops[0] = new()
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        new = BINARY.get(type(node.op))
        if new and self.here(node, f"{type(node.op).__name__} becomes {new.__name__}"):
            node.op = new()
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        new = BOOLEAN[type(node.op)]
        if self.here(node, f"{type(node.op).__name__} becomes {new.__name__}"):
            node.op = new()
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not | ast.USub) and self.here(
            node, f"{type(node.op).__name__} left out"
        ):
            return node.operand
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if type(node.value) is bool:
            if self.here(node, f"{node.value} becomes {not node.value}"):
                return ast.copy_location(ast.Constant(not node.value), node)
        elif type(node.value) in (int, float) and self.here(node, f"{node.value} plus 1"):
            return ast.copy_location(ast.Constant(node.value + 1), node)
        return node


def faulty_code(path: Path, wanted: int) -> CodeType:
    tree = Faults(wanted).visit(ast.parse(path.read_text("utf-8")))
    return compile(ast.fix_missing_locations(tree), str(path), "exec")


def install(target: Path, wanted: int) -> None:
    """From now on the module at `target` is loaded with the fault."""
    usual = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
        if Path(loader.path) == target:
            return faulty_code(target, wanted)
        return usual(loader, name)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign] for this process alone


if "MUTANT_FILE" in os.environ:
    install(Path(os.environ["MUTANT_FILE"]), int(os.environ["MUTANT_NUMBER"]))
