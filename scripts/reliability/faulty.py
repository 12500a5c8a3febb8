"""A module's code with one fault in it; no file is changed."""

from __future__ import annotations

import ast
import gc
import inspect
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType

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
Place = tuple[str, str, int]  # file, name and first line of a function
BOOLEAN = {ast.And: ast.Or, ast.Or: ast.And}


class Faults(ast.NodeTransformer):
    """Puts in fault number `wanted` (none if it is -1); `places` lists what can be put in where."""

    def __init__(self, wanted: int = -1) -> None:
        self.wanted = wanted
        self.places: list[tuple[int, str]] = []
        self.while_loading: list[bool] = []  # of each place: outside of all functions
        self.depth = 0

    def here(self, node: ast.expr | ast.stmt, what: str) -> bool:
        self.places.append((node.lineno, what))
        self.while_loading.append(self.depth == 0)
        return len(self.places) - 1 == self.wanted

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node  # its type is no behaviour

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Its defaults and its body; types and decorators are left as they are."""
        arguments = node.args
        arguments.defaults = [self.visit(value) for value in arguments.defaults]
        arguments.kw_defaults = [value and self.visit(value) for value in arguments.kw_defaults]
        self.depth += 1
        node.body = [self.visit(statement) for statement in node.body]
        self.depth -= 1
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.body = [self.visit(statement) for statement in node.body]
        return node  # decorators such as dataclass(frozen=True) are left as they are

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Call) and self.here(node, "call left out"):
            return ast.copy_location(ast.Pass(), node)
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        """What a refusal says is not looked into."""
        return ast.copy_location(ast.Pass(), node) if self.here(node, "raise left out") else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        new = BINARY.get(type(node.op))
        if new and self.here(node, f"{type(node.op).__name__} becomes {new.__name__}"):
            node.op = new()
        return node

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
    """The module's code with that fault; -1: with none."""
    tree = Faults(wanted).visit(ast.parse(path.read_text("utf-8")))
    return compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)


def load_with_fault(target: Path, wanted: int) -> None:
    """From now on the module at `target` is loaded with the fault."""
    usual = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
        if Path(loader.path) == target:
            return faulty_code(target, wanted)
        return usual(loader, name)

    SourceFileLoader.get_code = get_code  # for this process alone


def loaded_functions(source: Path) -> dict[Place, list[FunctionType]]:
    """All functions that were loaded from files below `source`, by their place."""
    found: dict[Place, list[FunctionType]] = {}
    for each in gc.get_objects():
        if type(each) is FunctionType and each.__code__.co_filename.startswith(str(source)):
            found.setdefault(place(each.__code__), []).append(each)
    return found


def put_in(target: Path, wanted: int, functions: dict[Place, list[FunctionType]]) -> bool:
    """Gives loaded functions the fault; False if it is outside of all that were loaded."""
    found = faulty_function(faulty_code(target, -1), faulty_code(target, wanted))
    known = functions.get(place(found), []) if found is not None else []
    for each in known:
        each.__code__ = found
    return bool(known)


def faulty_function(good: CodeType, bad: CodeType) -> CodeType | None:
    """The outermost function of `bad` that differs; None where a module or class body does."""
    pairs = [
        (old, new)
        for old, new in zip(good.co_consts, bad.co_consts, strict=False)
        if isinstance(old, CodeType) and isinstance(new, CodeType) and old != new
    ]
    for old, new in pairs:
        if new.co_flags & inspect.CO_NEWLOCALS:
            return new
        return faulty_function(old, new)
    return None


def place(code: CodeType) -> Place:
    return code.co_filename, code.co_qualname, code.co_firstlineno
