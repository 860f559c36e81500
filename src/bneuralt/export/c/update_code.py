"""C code of updates: a step of an optimizer on the loss of one row, as the engine does it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bneuralt._typing import Array
from bneuralt.export.c.learning_code import LEARNS, LearningCode, indented, sum_code
from bneuralt.export.c.link_code import link_function
from bneuralt.export.c.literals import c_templates
from bneuralt.export.c.model_code import PublicFunction
from bneuralt.expressions import substitute, variable
from bneuralt.training.optimizers import Optimizer, get_optimizer

__all__ = ["RULES", "LearningRule", "learning_rule", "update_code"]

templates = c_templates("learning.c")

#: Optimizers of generated code, and their names in the engine.
RULES = {"sgd": "gd", "rmsprop": "rmsprop"}

#: Largest rate, and largest norm of a gradient: their product is far below the largest numbers,
#: where it is less than the distance between two of them.
LIMITS = {"float": 1e9, "double": 1e75}


class LearningRule(NamedTuple):
    """How the code learns."""

    optimizer: Optimizer
    learns: str = "all"
    weight_decay: float = 0.0


def learning_rule(learning: str | Optimizer, learns: str, weight_decay: float) -> LearningRule:
    """Return how the code learns, from the arguments of `to_c`.

    Examples
    --------
    >>> learning_rule("sgd", "all", 0.0).optimizer
    GradientDescent()
    """
    name = learning.name if isinstance(learning, Optimizer) else RULES.get(str(learning))
    if name not in RULES.values():
        raise ValueError(
            f"learning={learning!r:.100} must be {' or '.join(map(repr, RULES))}, or an optimizer "
            "of this kind"
        )
    if learns not in LEARNS:
        raise ValueError(f"learns={learns!r} must be one of {', '.join(map(repr, LEARNS))}")
    is_number = isinstance(weight_decay, (int, float)) and not isinstance(weight_decay, bool)
    if not is_number or not 0 <= weight_decay < math.inf:
        raise ValueError(f"weight_decay={weight_decay!r} must be a number that is not negative")
    optimizer = learning if isinstance(learning, Optimizer) else get_optimizer(str(name))
    return LearningRule(optimizer, learns, float(weight_decay))


def update_code(code: LearningCode, rule: LearningRule) -> tuple[str, list[PublicFunction]]:
    """Return private definitions, and the functions that learn and show what was learnt.

    The tables that they read are added to those of the code.
    """
    update = _Update(code, rule)
    name, real = code.name, code.math.type
    state = [f"static {real} {name}_squares[{code.n_learnt}];\n"] * rule.optimizer.n_state
    private = [*state, update.slopes(), update.errors(), update.steps()]
    about = "Learns from a row and its target. Returns 1, or 0 if nothing has changed: see refused."
    head = f"int {name}_update(const {real} *x, {update.goal.argument}, {real} rate)"
    functions = [
        PublicFunction(head, about, update.body()),
        PublicFunction(
            f"{real} *{name}_weights(void)",
            f"The {code.n_learnt:,} weights that learn, to be stored and restored.",
            f"    return {name}_learnt;\n",
        ),
    ]
    if state:
        functions += [
            PublicFunction(
                f"{real} *{name}_state(void)",
                "The mean square of the gradients of each of these weights.",
                f"    return {name}_squares;\n",
            )
        ]
    refused = "The number of updates refused, because a number was not finite or not valid."
    head = f"unsigned long {name}_refused(void)"
    functions += [PublicFunction(head, refused, f"    return {name}_n_refused;\n")]
    return "\n".join(private), functions


class _Goal(NamedTuple):
    """How the target of a row is passed."""

    argument: str  # of the function of users
    inner: str  # of the function of slopes
    entry: str  # the target of output k in it


class _Update:
    """Writes the update of one model."""

    def __init__(self, code: LearningCode, rule: LearningRule) -> None:
        self.code, self.rule = code, rule
        self.decays = rule.weight_decay > 0 and rule.learns != "biases"
        self.moves_phi = code.weights["phi"].n_learnt > 0
        self.moves_edges = code.weights["edge"].n_learnt > 0
        self.moves_leaves = code.weights["leaf"].n_learnt > 0

    @property
    def goal(self) -> _Goal:
        """How the target of a row is passed."""
        model, real = self.code.model, self.code.math.type
        one = self.code.math.number(1.0)
        if model.task == "classes":
            return _Goal("int y", "int target", f"(k == target ? {one} : 0)")
        if model.task == "labels":
            declared = "const unsigned char *{}"
            entry = f"(targets[k] ? {one} : 0)"
            return _Goal(declared.format("y"), declared.format("targets"), entry)
        if self.code.learning.loss.compares == "shared" or model.n_outputs == 1:
            return _Goal(f"{real} y", f"{real} target", "target")
        return _Goal(f"const {real} *y", f"const {real} *targets", "targets[k]")

    def slopes(self) -> str:
        """Return the function from outputs to the derivatives of the loss by them."""
        code, loss, k = self.code, self.code.learning.loss, self.code.model.n_outputs
        pairs = zip(loss.entry.parameters, loss.values, strict=True)
        entries = {
            parameter.name: variable(code.reals(parameter.name, np.array(value), "k"))
            for parameter, value in pairs
            if parameter.is_list
        }
        slope = substitute(loss.slope(k), {"targets": variable(self.goal.entry), **entries})
        name, argument = f"{code.name}_slopes", self.goal.inner
        text = link_function(slope, k, name, code.math, argument)
        return f"/* Turns outputs into the derivatives of the loss by them. */\n{text}"

    # -- steps ---------------------------------------------------------------------------

    def steps(self) -> str:
        """Return the functions that move weights."""
        code = self.code
        leaves, edges = code.weights["leaf"], code.weights["edge"]
        call = f"{code.name}_step({{}}, {{}}, rate, total);"
        counters, lines = "", [call.format("j", "d[j]")]
        if self.moves_leaves:
            counters += ", l = 0"
            lines += [f"for (n = {code.names['leaves']}; n; n--, l++)"]
            value = f"d[j] * in[{code.names['input']}]"
            lines += ["    " + call.format(sum_code("l", leaves.start), value)]
        if self.moves_edges:
            k = code.model.n_outputs
            counters += f", c = {k}"
            lines += [f"for (n = {code.names['children']}; n; n--, c++)"]
            lines += ["    " + call.format(sum_code("c", edges.start - k), "d[j] * h[c]")]
        after, phi = [], code.weights["phi"]
        if self.moves_phi:
            after += [f"for (j = 0; j < {phi.n_learnt}; j++)"]
            after += ["    " + call.format(sum_code("j", phi.start), "f[j]")]
        read = [*["in"] * self.moves_leaves, *["h"] * self.moves_edges, "d"]
        listed = ", ".join(f"*const {name} = {code.name}_{name}" for name in read)
        return code.fill(
            templates.STEP,
            arrays=f"    const {code.math.type} {listed};\n",
            f_argument=f", const {code.math.type} *f" * self.moves_phi,
            step=indented(self._step(), 1),
            counters=counters + ", n" * bool(counters),
            steps=indented(lines, 2),
            after_steps=indented(after, 1),
        )

    def _step(self) -> list[str]:
        """Return the statements that move a weight."""
        code, number = self.code, self.code.math.number
        lines = []
        if self.decays:
            first, last = code.weights["edge"].start, code.weights["phi"].start
            lines += [f"if (i >= {first} && i < {last})"]
            lines += [f"    *w *= 1 - *rate * {number(self.rule.weight_decay)};"]
        if self.rule.optimizer.n_state:
            beta, epsilon = self.rule.optimizer.numbers
            square = f"{code.name}_squares[i]"
            lines += [f"{square} = {number(beta)} * {square} + {number(1 - beta)} * (g * g);"]
            root = code.math.names["sqrt"]
            lines += [f"*w -= *rate * g / {root}({square} + {number(epsilon)});"]
        else:
            lines += ["*w -= *rate * g;"]
        signs = self._signs()
        if signs is not None:
            sign = code.wholes("signs", signs + 1, "i")  # 0 for negative, 2 for positive weights
            lines += [f"if ({sign} == 0 ? *w > 0 : {sign} == 2 && *w < 0)", "    *w = 0;"]
        return lines

    def _signs(self) -> Array | None:
        """Return the sign that each weight that learns must keep; None if there are none."""
        if self.code.learning.signs is None:
            return None
        parts = self.code.weights.values()
        ends = np.cumsum([part.values.size for part in parts])
        signs = np.split(self.code.learning.signs, ends[:-1])
        required: Array = np.concatenate(
            [of_part[: part.n_learnt] for of_part, part in zip(signs, parts, strict=True)]
        )
        return required if required.any() else None

    # -- the update ----------------------------------------------------------------------

    def body(self) -> str:
        """Return the statements of the update."""
        code, n_phi = self.code, self.code.weights["phi"].n_learnt
        more, target, goal = self._target()
        more += f", f[{n_phi}] = {{0}}" * self.moves_phi
        decay = code.math.number(self.rule.weight_decay)
        limit = LIMITS[code.math.type]
        return code.fill(
            templates.UPDATE,
            more=more,
            target=target,
            goal=goal,
            d=f", {code.name}_d" * code.needs_sums,
            f=", f" * self.moves_phi,
            decay_test=f" && rate * {decay} <= 1" * self.decays,
            largest_rate=code.math.number(limit),
            largest_square=code.math.number(limit * limit),
        )

    def _target(self) -> tuple[str, str, str]:
        """Return declarations, statements, and the argument of the function of slopes."""
        code, model, number = self.code, self.code.model, self.code.math.number
        refuse = f"        return {code.name}_refuse();\n"
        if model.task == "classes":
            return "", f"    if (y < 0 || y >= {model.n_outputs})\n{refuse}", "y"
        if model.task == "labels":
            return "", "", "y"
        is_one = "*" not in self.goal.argument
        value, (low, high) = "y" if is_one else "y[j]", code.learning.loss.target_range
        valid = [f"{value} - {value} == 0"]
        valid += [f"{value} >= {number(low)}"] * math.isfinite(low)
        valid += [f"{value} <= {number(high)}"] * math.isfinite(high)
        check, scaled = f"if (!({' && '.join(valid)}))", value
        if code.learning.targets is not None:
            offset, factor = (np.atleast_1d(part) for part in code.learning.targets)
            center = code.rounded(offset)
            inner = f"({value} - {code.reals('target_centers', center, 'j')})"
            scaled = code.scaled(inner, factor, (center - offset) * factor, "target", "j")
        if is_one:
            return "", f"    {check}\n{refuse}    y = {scaled};\n", "y"
        k = model.n_outputs
        loop = f"    for (j = 0; j < {k}; j++) {{\n        {check}\n    {refuse}"
        return f", t[{k}]", f"{loop}        t[j] = {scaled};\n    }}\n", "t"

    # -- error terms ---------------------------------------------------------------------

    def errors(self) -> str:
        """Return the function from derivatives by outputs to those by weighted sums."""
        code = self.code
        is_deep = code.n_moved > code.model.n_outputs
        return code.fill(
            templates.ERRORS,
            f_argument=f", {code.math.type} *f" * self.moves_phi,
            p=", p = 0" * any(kind.parameters for kind in code.node_kinds[: code.n_moved]),
            walk=", parent = -1, left = 0" * is_deep,
            above=self._above(is_deep),
            errors=self._errors(),
        )

    def _above(self, is_deep: bool) -> str:
        """Return statements: the derivative by the value of node j."""
        code, real, k = self.code, self.code.math.type, self.code.model.n_outputs
        if not is_deep:
            return indented([f"const {real} above = g[j];"], 2)
        children = str(code.names["children"]).replace("2 * j", "2 * ++parent")
        return indented(
            [
                f"{real} above;",
                f"if (j < {k}) {{",
                "    above = g[j];",
                "} else {",
                "    while (!left)",
                f"        left = {children};",
                "    left--;",
                f"    above = {code.weight('edge', 'j', k)} * d[parent];",
                "}",
            ],
            2,
        )

    def _errors(self) -> str:
        """Return statements: the error term of node j, and gradients of parameters."""
        code, cases = self.code, {}
        for kind in code.node_cases:
            n = len(kind.parameters)
            slopes = {"slope": kind.slope_by()}
            if self.moves_phi:
                slopes |= {f"by{i}": kind.slope_by(name) for i, name in enumerate(kind.parameters)}
            lines, names = code.parameter_reads(kind, *slopes.values())
            if any("z" in expression.variables for expression in slopes.values()):
                lines += [f"const {code.math.type} z = d[j];"]
            for name, expression in slopes.items():
                text = code.math.text(expression, None, **names)
                lines += [f"const {code.math.type} {name} = {text};"]
            lines += [f"f[{sum_code('p', i)}] = by{i} * above;" for i in range(len(slopes) - 1)]
            cases[kind] = [*lines, "d[j] = slope * above;", *[f"p += {n};"] * (n > 0)]
        return code.by_kind(cases, code.n_moved)
