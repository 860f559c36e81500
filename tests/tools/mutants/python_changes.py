"""All changes of a Python module, by kind.

A kind is a function that yields what may come instead of a node. Texts, annotations, imports,
assertions and `strict=` of `zip` stay as they are.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator
from copy import copy

from tests.tools.mutants.changes import Change

Kind = Callable[[ast.AST], Iterator[ast.AST]]
KINDS: dict[str, Kind] = {}


def _kind(name: str) -> Callable[[Kind], Kind]:
    def register(function: Kind) -> Kind:
        KINDS[name] = function
        return function

    return register


def _with(node: ast.AST, **fields: object) -> ast.AST:
    """Return a copy of a node with other fields."""
    changed = copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _without(values: list, i: int) -> list:
    return values[:i] + values[i + 1 :]


def _operators(node: ast.AST, pairs: dict[type, type]) -> Iterator[ast.AST]:
    """Change the operator of an operation, or one of those of a comparison."""
    if isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            if type(operator) in pairs:
                ops = [*node.ops[:i], pairs[type(operator)](), *node.ops[i + 1 :]]
                yield _with(node, ops=ops)
    elif isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in pairs:
        yield _with(node, op=pairs[type(node.op)]())


@_kind("border")
def _border(node: ast.AST) -> Iterator[ast.AST]:
    yield from _operators(
        node, {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
    )


@_kind("comparison")
def _comparison(node: ast.AST) -> Iterator[ast.AST]:
    opposites = {
        ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
        ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Lt: ast.Gt, ast.Gt: ast.Lt,
        ast.LtE: ast.GtE, ast.GtE: ast.LtE,
    }  # fmt: skip
    yield from _operators(node, opposites)


@_kind("operator")
def _operator(node: ast.AST) -> Iterator[ast.AST]:
    others = {
        ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
        ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr,
        ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    }  # fmt: skip
    yield from _operators(node, others)


@_kind("boolean")
def _boolean(node: ast.AST) -> Iterator[ast.AST]:
    yield from _operators(node, {ast.And: ast.Or, ast.Or: ast.And})


@_kind("constant")
def _constant(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield ast.Constant(node.value + 1)
        if node.value > 1:
            yield ast.Constant(node.value - 1)
    elif isinstance(node, ast.Constant) and type(node.value) is float:
        yield ast.Constant(node.value * 1.5 if node.value else 1.0)


@_kind("truth value")
def _truth_value(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield ast.Constant(not node.value)


@_kind("sign")
def _sign(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node.operand
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        yield _with(node, left=node.right, right=node.left)


@_kind("dropped term")
def _dropped_term(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp) and isinstance(
        node.op, ast.Add | ast.Sub | ast.Mult | ast.Div | ast.BitAnd | ast.BitOr
    ):
        yield node.left
        if not isinstance(node.op, ast.Sub | ast.Div):
            yield node.right
    elif isinstance(node, ast.BoolOp):
        for i in range(len(node.values)):
            rest = _without(node.values, i)
            yield rest[0] if len(rest) == 1 else _with(node, values=rest)


@_kind("dropped not")
def _dropped_not(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
        yield node.operand


@_kind("swapped arguments")
def _swapped_arguments(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call):
        for i, (a, b) in enumerate(zip(node.args, node.args[1:], strict=False)):
            if not isinstance(a, ast.Starred) and not isinstance(b, ast.Starred):
                yield _with(node, args=[*node.args[:i], b, a, *node.args[i + 2 :]])


@_kind("dropped argument")
def _dropped_argument(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call):
        for i, keyword in enumerate(node.keywords):
            if keyword.arg not in ("strict", "stacklevel"):
                yield _with(node, keywords=_without(node.keywords, i))


@_kind("condition")
def _condition(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        if not isinstance(node, ast.While):
            yield _with(node, test=ast.Constant(True))
        yield _with(node, test=ast.Constant(False))
    elif isinstance(node, ast.comprehension):
        for i in range(len(node.ifs)):
            yield _with(node, ifs=_without(node.ifs, i))


@_kind("removed statement")
def _removed_statement(node: ast.AST) -> Iterator[ast.AST]:
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    stores = isinstance(node, ast.Assign) and isinstance(
        node.targets[0], ast.Attribute | ast.Subscript
    )
    others = (ast.AugAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete)
    if is_call or stores or isinstance(node, others):
        yield ast.Pass()


#: Functions, and what is called instead of them.
_OPPOSITES = {
    "min": "max", "minimum": "maximum", "argmin": "argmax", "nanmin": "nanmax",
    "floor": "ceil", "any": "all", "fmin": "fmax",
}  # fmt: skip
_OPPOSITES |= {new: old for old, new in _OPPOSITES.items()}


@_kind("extreme")
def _extreme(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in _OPPOSITES:
            yield _with(node, func=ast.Name(_OPPOSITES[node.func.id]))
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _OPPOSITES:
            yield _with(node, func=_with(node.func, attr=_OPPOSITES[node.func.attr]))


@_kind("order")
def _order(node: ast.AST) -> Iterator[ast.AST]:
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("sorted", "reversed")
    ):
        yield _with(node, func=ast.Name("list"), keywords=[])


@_kind("slice")
def _slice(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Slice):
        for bound in ("lower", "upper", "step"):
            if getattr(node, bound) is not None:
                yield _with(node, **{bound: None})


class _Walk:
    """Visits nodes with their enclosing statement, and sets their places in the tree."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text
        self.lines = text.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.changes: list[Change] = []
        self.scope: list[str] = []

    def visit(self, parent: ast.AST, statement: ast.stmt | None, importing: bool) -> None:
        """Find the changes below a node."""
        is_scope = isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if is_scope:
            self.scope.append(parent.name)  # type: ignore[attr-defined]
        for name, value in ast.iter_fields(parent):
            if name in ("annotation", "returns", "type_comment"):
                continue
            values = value if isinstance(value, list) else [value]
            for i, node in enumerate(values):
                if not isinstance(node, ast.AST) or _stays(node):
                    continue
                inner = node if isinstance(node, ast.stmt) else statement
                inside = isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef)
                now = importing and not (inside and name == "body")
                if inner is not None:
                    for kind, replacements in KINDS.items():
                        for new in replacements(node):
                            if ast.dump(new) == ast.dump(node):
                                continue
                            if isinstance(value, list):
                                values[i] = new
                            else:
                                setattr(parent, name, new)
                            target = new if node is inner else inner
                            self._add(kind, node, new, inner, target, now)  # type: ignore[arg-type]
                            if isinstance(value, list):
                                values[i] = node
                            else:
                                setattr(parent, name, node)
                self.visit(node, inner, now)
        if is_scope:
            self.scope.pop()

    def _add(
        self, kind: str, node: ast.AST, new: ast.AST, old: ast.stmt, target: ast.stmt, now: bool
    ) -> None:
        first = min([old.lineno, *(d.lineno for d in getattr(old, "decorator_list", ()))]) - 1
        last = old.end_lineno or old.lineno
        indent = " " * old.col_offset
        text = ast.unparse(ast.fix_missing_locations(target))
        if self.lines[first].lstrip().startswith("elif "):
            text = "el" + text
        line = getattr(node, "lineno", old.lineno)
        if not old.lineno <= line <= last:  # in a formatted text, whose places are not known
            line = old.lineno
        body = getattr(old, "body", None)
        before_body = body[0].lineno - 1 if body else last
        lines: range | None = range(first + 1, max(first + 2, before_body + 1))
        if isinstance(old, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = range(old.body[0].lineno, last + 1)  # defaults matter when it is called
        elif now:
            lines = None
        self.changes.append(
            Change(
                self.file, ".".join(self.scope), kind, line,
                getattr(node, "col_offset", old.col_offset), _brief(node),
                "" if isinstance(new, ast.Pass) else _brief(new),
                self.starts[first], self.starts[last], textwrap.indent(text, indent) + "\n", lines,
            )
        )  # fmt: skip


def _brief(node: ast.AST) -> str:
    """Return the code of a node, without the body of a statement."""
    if isinstance(node, ast.If | ast.While):
        return f"{type(node).__name__.lower()} {ast.unparse(node.test)}"
    return ast.unparse(node)


def _stays(node: ast.AST) -> bool:
    """Whether a node and all below it stay as they are."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return True
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return any("overload" in ast.unparse(d) for d in node.decorator_list)
    return isinstance(node, ast.Import | ast.ImportFrom | ast.Assert | ast.expr_context)


def changes_of(file: str, text: str) -> list[Change]:
    """Return all changes of a module, in the order of its nodes."""
    walk = _Walk(file, text)
    walk.visit(ast.parse(text), None, True)
    return walk.changes
