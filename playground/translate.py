"""Translate Python functions of plain numbers to JavaScript.

The automatic settings (`bneuralt.fitting.capacity`) are arithmetic on a few numbers. The
playground takes them from the Python source, so that there is no second version of them. Syntax
that is not needed there is refused.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from types import ModuleType
from typing import Any

__all__ = ["module_to_javascript"]

_BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.Mod: "%"}
_COMPARE = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "===",
    ast.NotEq: "!==",
    ast.Is: "===",
    ast.IsNot: "!==",
}
#: Functions and methods of Python by the functions of `HELPERS`.
_FUNCTIONS = {
    "min": "Math.min",
    "max": "Math.max",
    "int": "Math.trunc",
    "abs": "Math.abs",
    "float": "Number",
    "bool": "Boolean",
    "round": "round",
    "len": "len",
    "sum": "sum",
    "reversed": "reversed",
    "sqrt": "Math.sqrt",
    "log": "Math.log",
    "exp": "Math.exp",
    "floor": "Math.floor",
    "ceil": "Math.ceil",
    "log2": "Math.log2",
    "log10": "Math.log10",
}
_METHODS = {"sum": "sum", "max": "largest", "min": "smallest", "mean": "mean", "any": "any"}

HELPERS = """\
const round = (x) => {
  const down = Math.floor(x), rest = x - down;
  return rest < 0.5 || (rest === 0.5 && down % 2 === 0) ? down : down + 1;
};
const len = (x) => x.length;
const sum = (x) => x.reduce((a, b) => a + b, 0);
const largest = (x) => x.reduce((a, b) => Math.max(a, b));
const smallest = (x) => x.reduce((a, b) => Math.min(a, b));
const mean = (x) => sum(x) / x.length;
const any = (x) => x.some(Boolean);
const reversed = (x) => [...x].reverse();
"""


class UntranslatableError(Exception):
    """A piece of Python has no translation."""


def module_to_javascript(module: ModuleType) -> str:
    """Return a module of constants, functions and frozen dataclasses as a module of JavaScript."""
    source = ast.parse(inspect.getsource(module))
    parts = [HELPERS]
    translator = _Translator(source)
    for statement in source.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        if isinstance(statement, ast.Expr):  # documentation
            continue
        if isinstance(statement, ast.Assign) and _names(statement) == ["__all__"]:
            continue
        parts.append("export " + translator.top(statement))
    return "\n".join(parts) + "\n"


def _names(statement: ast.Assign) -> list[str]:
    (target,) = statement.targets
    targets = target.elts if isinstance(target, ast.Tuple) else [target]
    return [ast.unparse(name) for name in targets]


class _Translator:
    def __init__(self, source: ast.Module) -> None:
        self._parameters: dict[str, list[str]] = {}  # of functions and classes
        self._classes = {s.name for s in source.body if isinstance(s, ast.ClassDef)}
        for node in ast.walk(source):
            if isinstance(node, ast.FunctionDef):
                names = [a.arg for a in (*node.args.args, *node.args.kwonlyargs)]
                self._parameters[node.name] = [name for name in names if name != "self"]
            if isinstance(node, ast.ClassDef):
                self._parameters[node.name] = [name for name, _ in _fields(node)]

    # -- statements ----------------------------------------------------------------------

    def top(self, statement: ast.stmt) -> str:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            return self.statement(statement, "const ")
        if isinstance(statement, ast.FunctionDef):
            return "function " + self.function(statement)
        if isinstance(statement, ast.ClassDef):
            return self.dataclass(statement)
        raise _refusal(statement)

    def dataclass(self, node: ast.ClassDef) -> str:
        fields = _fields(node)
        arguments = ", ".join(
            name if value is None else f"{name} = {self.expression(value)}"
            for name, value in fields
        )
        store = "Object.assign(this, { " + ", ".join(name for name, _ in fields) + " });"
        lines = [f"class {node.name} {{", f"constructor({arguments}) {{ {store} }}"]
        for entry in node.body:
            if isinstance(entry, ast.FunctionDef):
                is_property = any(ast.unparse(d) == "property" for d in entry.decorator_list)
                lines.append(("get " if is_property else "") + self.function(entry))
        return "\n".join([*lines, "}"])

    def function(self, node: ast.FunctionDef) -> str:
        arguments, defaults = node.args.args, node.args.defaults
        texts = [a.arg for a in arguments]
        for i, value in enumerate(defaults, len(texts) - len(defaults)):
            texts[i] += f" = {self.expression(value)}"
        for a, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            texts.append(a.arg if value is None else f"{a.arg} = {self.expression(value)}")
        texts = [text for text in texts if text != "self"]
        names = {a.arg for a in arguments}
        local = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and _is_stored(n)]
        declared = sorted(set(local) - names - _of_generators(node))
        body = [f"let {', '.join(declared)};"] * bool(declared)
        body += [self.statement(s) for s in node.body if not _is_text(s)]
        return (
            f"{node.name}({', '.join(texts)}) {{\n" + textwrap.indent("\n".join(body), "  ") + "\n}"
        )

    def statement(self, node: ast.stmt, declare: str = "") -> str:
        if isinstance(node, ast.Assign):
            names = _names(node)
            target = names[0] if len(names) == 1 else f"[{', '.join(names)}]"
            return f"{declare}{target} = {self.expression(node.value)};"
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            return f"{declare}{ast.unparse(node.target)} = {self.expression(node.value)};"
        if isinstance(node, ast.AugAssign):
            sign = _BINARY[type(node.op)]
            return f"{ast.unparse(node.target)} {sign}= {self.expression(node.value)};"
        if isinstance(node, ast.Return) and node.value is not None:
            return f"return {self.expression(node.value)};"
        if isinstance(node, ast.If):
            text = f"if ({self.expression(node.test)}) {{ {self._block(node.body)} }}"
            return text + (f" else {{ {self._block(node.orelse)} }}" if node.orelse else "")
        raise _refusal(node)

    def _block(self, body: list[ast.stmt]) -> str:
        return " ".join(self.statement(s) for s in body)

    # -- expressions ---------------------------------------------------------------------

    def expression(self, node: ast.expr) -> str:
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            raise _refusal(node)
        text: str = method(node)
        return text

    def _Constant(self, node: ast.Constant) -> str:
        words: dict[Any, str] = {None: "null", True: "true", False: "false"}
        if node.value is None or isinstance(node.value, bool):
            return words[node.value]
        if isinstance(node.value, int | float | str):
            return repr(node.value)
        raise _refusal(node)

    def _Name(self, node: ast.Name) -> str:
        return {"inf": "Infinity", "self": "this"}.get(node.id, node.id)

    def _Attribute(self, node: ast.Attribute) -> str:
        if isinstance(node.value, ast.Name) and node.value.id in ("math", "np"):
            return self._Name(ast.Name(node.attr))
        return f"{self.expression(node.value)}.{node.attr}"

    def _BinOp(self, node: ast.BinOp) -> str:
        left, right = self.expression(node.left), self.expression(node.right)
        if isinstance(node.op, ast.FloorDiv):
            return f"Math.floor({left} / {right})"
        if type(node.op) not in _BINARY:
            raise _refusal(node)
        return f"({left} {_BINARY[type(node.op)]} {right})"

    def _UnaryOp(self, node: ast.UnaryOp) -> str:
        sign = {ast.USub: "-", ast.Not: "!", ast.UAdd: "+"}.get(type(node.op))
        if sign is None:
            raise _refusal(node)
        return f"({sign}{self.expression(node.operand)})"

    def _BoolOp(self, node: ast.BoolOp) -> str:
        sign = " && " if isinstance(node.op, ast.And) else " || "
        return "(" + sign.join(map(self.expression, node.values)) + ")"

    def _Compare(self, node: ast.Compare) -> str:
        sides = [self.expression(side) for side in (node.left, *node.comparators)]
        signs = [_COMPARE.get(type(op)) for op in node.ops]
        if None in signs:
            raise _refusal(node)
        pairs = zip(sides, signs, sides[1:], strict=False)
        return "(" + " && ".join(f"{a} {sign} {b}" for a, sign, b in pairs) + ")"

    def _IfExp(self, node: ast.IfExp) -> str:
        parts = (node.test, node.body, node.orelse)
        return "({} ? {} : {})".format(*map(self.expression, parts))

    def _Tuple(self, node: ast.Tuple | ast.List) -> str:
        return f"[{', '.join(map(self.expression, node.elts))}]"

    _List = _Tuple

    def _Dict(self, node: ast.Dict) -> str:
        pairs = zip(node.keys, node.values, strict=True)
        entries = (f"[{self.expression(k)}]: {self.expression(v)}" for k, v in pairs if k)
        return "{ " + ", ".join(entries) + " }"

    def _Subscript(self, node: ast.Subscript) -> str:
        if isinstance(node.slice, ast.UnaryOp):  # -1
            return f"{self.expression(node.value)}.at({self.expression(node.slice)})"
        return f"{self.expression(node.value)}[{self.expression(node.slice)}]"

    def _GeneratorExp(self, node: ast.GeneratorExp) -> str:
        if len(node.generators) != 1:
            raise _refusal(node)
        (part,) = node.generators
        items, target = self.expression(part.iter), self.expression(part.target)
        for condition in part.ifs:
            items += f".filter(({target}) => {self.expression(condition)})"
        return f"{items}.map(({target}) => {self.expression(node.elt)})"

    _ListComp = _GeneratorExp

    def _Call(self, node: ast.Call) -> str:
        arguments = [self.expression(a) for a in node.args]
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in _METHODS and not arguments:
            return f"{_METHODS[function.attr]}({self.expression(function.value)})"
        name = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
        if name == "next" and len(arguments) == 1:
            return f"{arguments[0]}[0]"
        if name in ("tuple", "list") and len(arguments) == 1:
            return arguments[0]
        if name in self._parameters:
            keywords = {k.arg: self.expression(k.value) for k in node.keywords}
            order = self._parameters[name][len(arguments) :]
            if not keywords.keys() <= set(order):
                raise _refusal(node)
            while order and order[-1] not in keywords:
                order.pop()
            arguments += [keywords.get(parameter, "undefined") for parameter in order]
            new = "new " if name in self._classes else ""
            owner = self.expression(function)
            return f"{new}{owner}({', '.join(arguments)})"
        if name in _FUNCTIONS and not node.keywords:
            return f"{_FUNCTIONS[name]}({', '.join(arguments)})"
        raise _refusal(node)


def _fields(node: ast.ClassDef) -> list[tuple[str, ast.expr | None]]:
    entries = [e for e in node.body if isinstance(e, ast.AnnAssign)]
    return [(ast.unparse(entry.target), entry.value) for entry in entries]


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _of_generators(node: ast.AST) -> set[str]:
    """Return the names that comprehensions declare."""
    parts = [n for n in ast.walk(node) if isinstance(n, ast.comprehension)]
    names = [n for part in parts for n in ast.walk(part.target) if isinstance(n, ast.Name)]
    return {name.id for name in names}


def _refusal(node: ast.AST) -> UntranslatableError:
    return UntranslatableError(
        f"line {getattr(node, 'lineno', '?')}: {ast.unparse(node)!r:.100} has no translation to "
        "JavaScript: write it with plain arithmetic, or teach playground/translate.py"
    )
