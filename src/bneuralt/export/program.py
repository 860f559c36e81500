"""A model as a program: named statements from the cells of a row to predictions.

Every target that writes code prints a `Program`. Lowering is done here, once for all of them: cells
are read as in training, inputs that no leaf has are left out, two classes become one log-odds,
links are written out for each output, and values that are needed twice get a name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.export.contributions import (
    SMALL,
    baseline_sums,
    explained_link,
    is_difference,
    mean_row,
    quotient,
)
from bneuralt.export.nodes import Node, nodes_of
from bneuralt.export.spellings import spellings
from bneuralt.expressions import (
    OUTPUTS,
    Expression,
    Lookup,
    absolute,
    constant,
    maximum,
    minimum,
    sigmoid,
    substitute,
    variable,
)
from bneuralt.expressions.operations import CELLS, CONDITIONS, VECTORS
from bneuralt.model import Model, Reading, log_odds_model, reading_of
from bneuralt.tree import NeuralTree
from bneuralt.tree.walk import outputs_above

__all__ = [
    "Case",
    "Cases",
    "Forest",
    "Function",
    "Program",
    "Reading",
    "Statement",
    "curve",
    "forest_of",
    "may_be_missing",
    "printed_model",
    "skeleton",
    "tree_function",
    "weighted_sum",
]

#: Contributions through a link are limited to this size, because larger ones are errors in
#: databases.
LARGEST = 1e300

#: Operations whose result is not a number, or that are as short as a name.
_UNNAMED = {"constant", "variable", "entry", "date_part", "greater", "is_missing"}


class Case(NamedTuple):
    """Some texts with the same number in a lookup.

    Attributes
    ----------
    number : float
    texts : tuple of str
        All spellings.
    is_missing : bool
        Whether missing cells have this number as well.
    """

    number: float
    texts: tuple[str, ...]
    is_missing: bool


class Cases(NamedTuple):
    """The table of a lookup: the number of some texts, and that of all others."""

    cases: tuple[Case, ...]
    unknown: float


class TableNode(NamedTuple):
    """A node in a table: its function, weights of children (the last one first) and of leaves."""

    function: int
    is_output: bool
    bias: float
    children: tuple[float, ...]
    leaves: tuple[tuple[float, int], ...]
    constants: tuple[float, ...]


class Forest(NamedTuple):
    """Trees as tables, for languages with loops.

    Each node has one of some forms, see `skeleton`, which are functions as well. Values of nodes
    wait on a stack of `n_stacked` for their parents.
    """

    nodes: tuple[TableNode, ...]
    forms: tuple[Expression, ...]
    functions: tuple[Function, ...]
    n_stacked: int
    n_values: int

    @property
    def shape(self) -> tuple[int, ...]:
        """For each node, its kind, its numbers of children and of leaves, and their inputs.

        The kind is twice the function, plus 1 for an output.
        """
        shape: list[int] = []
        for node in self.nodes:
            shape += [2 * node.function + node.is_output, len(node.children), len(node.leaves)]
            shape += [i for _, i in node.leaves]
        return tuple(shape)

    @property
    def numbers(self) -> tuple[float, ...]:
        """For each node, its bias, the weights of its children and leaves, and its constants."""
        numbers: list[float] = []
        for node in self.nodes:
            numbers += [node.bias, *node.children, *(w for w, _ in node.leaves), *node.constants]
        return tuple(numbers)


@dataclass(frozen=True)
class Statement:
    """A value with a name; `required` says what is wrong if it is missing."""

    name: str
    value: Expression
    comment: str = ""
    required: str = ""


@dataclass(frozen=True)
class Function:
    """A function of numbers, which returns a vector or, if `name` begins with "curve", a number."""

    name: str
    parameters: tuple[str, ...]
    body: tuple[Statement, ...]
    results: tuple[Expression, ...]


@dataclass(frozen=True, eq=False)
class Program:
    """A model as statements.

    Beside the operations of `bneuralt.expressions`, values have ``weighted_sum`` (its value is the
    bias and the weights of its arguments), ``largest`` and ``ordered`` of several arguments (the
    value of the latter is a rank), ``lookup`` and ``date_part`` of what was read, ``call`` of a
    function, ``entry`` of a vector, and ``forest``.

    Attributes
    ----------
    model : Model
        Simplified.
    readings : tuple of Reading
    body : tuple of Statement
        In the order of evaluation.
    functions : tuple of Function
    predictions : tuple of Expression
        Names or constants: probabilities or numbers.
    scores : tuple of Expression
        What decides on the class: the largest one, or whether a single one is above 0.
    contributions : tuple of tuple of Expression
        For each explained output, the contribution of each column; may be empty.

    Examples
    --------
    >>> tree = NeuralTree(2, 1, [-1], [2], [0, 0], [0, 1], [0.5, 2.0, -1.0])
    >>> program = Program.of(Model.of_tree(tree))
    >>> [statement.name for statement in program.body], program.predictions[0].value
    (['i0', 'i1', 'o0'], 'o0')
    """

    model: Model
    readings: tuple[Reading, ...]
    body: tuple[Statement, ...]
    functions: tuple[Function, ...]
    predictions: tuple[Expression, ...]
    scores: tuple[Expression, ...]
    contributions: tuple[tuple[Expression, ...], ...] = ()

    @classmethod
    def of(
        cls,
        model: Model,
        *,
        contributions: bool = False,
        learning: bool = False,
        only_used: bool = True,
        output: int | None = None,
        has_functions: bool = True,
        most_nodes: int | None = None,
        small: float = SMALL[8],
    ) -> Program:
        """Lower a model.

        Parameters
        ----------
        model : Model
        contributions : bool
            Whether to compute the contributions of columns.
        learning : bool
            Whether the program is that of the tree as training left it: scaling is not part of the
            weights, but of the statements, as further training needs it.
        only_used : bool
            Whether inputs that no leaf has are left out.
        output : int, optional
            Compute this prediction only; -1 for the class only.
        has_functions : bool
            Whether the language has functions; otherwise links are written out for every tree.
        most_nodes : int, optional
            Trees with more nodes than this together become tables.
        small : float
            For differences of sums below this, contributions use slopes; see `quotient`.
        """
        lowering = _Lowering(
            model, contributions, learning, only_used, has_functions, most_nodes, small
        )
        return lowering.program(output)

    @property
    def is_log_odds(self) -> bool:
        """Whether one score decides between two classes."""
        return self.model.task == "classes" and len(self.scores) == 1

    @property
    def after_inputs(self) -> list[Statement]:
        """The statements that read no cell: what is computed from the inputs."""
        cells = {reading.name for reading in self.readings}
        statements = []
        for statement in self.body:
            if statement.comment or not cells.isdisjoint(statement.value.variables):
                cells |= set() if statement.comment else {statement.name}
            else:
                statements.append(statement)
        return statements

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels of the classes, as Python objects."""
        return tuple(self.model.classes or range(self.model.n_outputs))


# -- expressions of programs --------------------------------------------------------------


def weighted_sum(bias: float, terms: Iterable[tuple[float, Expression]]) -> Expression:
    """Return a bias plus the products of weights and values.

    Examples
    --------
    >>> weighted_sum(0.0, [(1.0, variable("a"))]).value
    'a'
    """
    terms = [(weight, value) for weight, value in terms if weight]
    if not terms:
        return constant(bias)
    if bias == 0 and len(terms) == 1:
        weight, value = terms[0]
        return value if weight == 1 else constant(weight) * value
    weights = (float(bias), *(float(weight) for weight, _ in terms))
    return Expression("weighted_sum", tuple(value for _, value in terms), weights)


def may_be_missing(expression: Expression) -> bool:
    """Return whether the value of an input is missing for some cells.

    Examples
    --------
    >>> from bneuralt.expressions import NUMBER, if_missing
    >>> may_be_missing(NUMBER), may_be_missing(if_missing(NUMBER, 0.5))
    (True, False)
    """
    if expression.operation in ("number", "date_part"):
        return True
    skipped = {"is_missing": 1, "if_missing": 1, "select": 1}.get(expression.operation, 0)
    return any(may_be_missing(part) for part in expression.arguments[skipped:])


def rebuilt(expression: Expression, parts: Sequence[Expression]) -> Expression:
    """Return an operation with other arguments; constants are computed."""
    names = [f"a{i}" for i in range(len(parts))]
    if expression.operation not in VECTORS and expression.operation not in CONDITIONS:
        form = expression.of([variable(name) for name in names])
        return substitute(form, dict(zip(names, parts, strict=True)))
    return expression.of(parts)


def named(statements: Iterable[Statement], results: Sequence[Expression]) -> list[Statement]:
    """Return statements in which equal parts have one name, without those that nothing needs."""
    statements = list(statements)
    uses: Counter[Expression] = Counter()
    waiting = [s.value for s in statements] + list(results)
    uses.update(waiting)
    while waiting:
        for part in waiting.pop().arguments:
            if part.arguments:
                uses[part] += 1
                if uses[part] == 1:
                    waiting.append(part)
    names: dict[Expression, str] = {}
    counts: Counter[str] = Counter()
    taken = {s.name for s in statements}
    listed: list[Statement] = []

    def part_of(expression: Expression) -> Expression:
        if not expression.arguments:
            return expression
        if expression in names:
            return variable(names[expression])
        value = expression.of([part_of(part) for part in expression.arguments])
        if uses[expression] < 2 or expression.operation in _UNNAMED:
            return value
        word = {"weighted_sum": "sum"}.get(expression.operation, expression.operation)
        while (name := f"{word}{counts[word]}") in taken:
            counts[word] += 1
        counts[word] += 1
        names[expression] = name
        listed.append(Statement(name, value))
        return variable(name)

    for statement in statements:
        value = statement.value
        if value in names:
            listed.append(replace(statement, value=variable(names[value])))
            continue
        parts = [part_of(part) for part in value.arguments]
        listed.append(replace(statement, value=value.of(parts)))
        if value.arguments:
            names[value] = statement.name
    needed = set().union(*(result.variables for result in results))
    kept: list[Statement] = []
    for statement in reversed(listed):
        if statement.name in needed or statement.required:
            kept.append(statement)
            needed |= statement.value.variables
    return kept[::-1]


# -- lowering -----------------------------------------------------------------------------


def printed_model(model: Model, *, learning: bool = False, only_used: bool = True) -> Model:
    """Return the model that a target writes: simplified, or as training left it.

    Parameters
    ----------
    model : Model
    learning : bool
        Whether the tree is that of training, which is not simplified.
    only_used : bool
        Whether ramps that no leaf has are left out.

    Raises
    ------
    ValueError
        The model cannot learn: it is a forest, or the scaling of its training is not known.
    """
    model = model.in_raw_units()
    if not learning:
        simple = model.simplified()
        return simple.with_used_bends()[0] if only_used else simple
    if len(model.trees) > 1:
        raise ValueError(
            f"learning is for models of one tree, this {model.kind} has {len(model.trees)}: use "
            "a single tree, or learning=None"
        )
    if model.learning is None:
        raise ValueError(
            f"this {model.kind} cannot learn in C, since the scaling of its training is not "
            "known: fit it, or use learning=None"
        )
    trees = (model.learning.tree.astype(np.float64),)
    return replace(model, trees=trees, is_raw=False)


class _Lowering:
    """Writes the statements of one model."""

    def __init__(
        self,
        model: Model,
        contributions: bool,
        learning: bool,
        only_used: bool,
        has_functions: bool,
        most_nodes: int | None,
        small: float,
    ) -> None:
        model = printed_model(model, learning=learning, only_used=only_used)
        self.model, self.has_functions, self.small = model, has_functions, small
        self.learning = model.learning if learning else None
        self.only_used = only_used
        if learning and contributions:
            raise ValueError("contributions are for models that do not learn: use learning=None")
        odds = None if learning else log_odds_model(model)
        self.is_log_odds = odds is not None
        self.trees = (odds or model).trees
        self.k = self.trees[0].n_outputs
        self.averages = model.averages if len(self.trees) > 1 else "outputs"
        self.statements: list[Statement] = []
        self.functions: list[Function] = []
        self.with_contributions = contributions
        n_nodes = sum(tree.parent.size for tree in self.trees)
        is_long = most_nodes is not None and n_nodes > most_nodes and not contributions
        self.link = explained_link(model) if contributions else OUTPUTS
        self.readings = list(self._inputs())
        outputs = (
            self._table() if is_long else [list(self._tree(t)) for t in range(len(self.trees))]
        )
        self.predictions, self.scores = self._results(outputs)
        self.contributions = self._contributions() if contributions else ()

    def program(self, output: int | None) -> Program:
        """Return the program that computes an output, -1 for the class, or everything."""
        predictions, scores = self.predictions, self.scores
        if output is not None:
            predictions = predictions[output : output + 1] if output >= 0 else ()
            scores = () if output >= 0 else scores
        if self.with_contributions:
            predictions, scores = self.predictions if output is None else (), self.scores
        rows = self.contributions
        results = [*predictions, *scores, *(value for row in rows for value in row)]
        inputs = () if self.only_used else [s.name for s in self.statements if s.comment]
        body = named(self.statements, [*results, *map(variable, inputs)])
        read = set[str]().union(*(s.value.variables for s in body))
        readings = tuple(reading for reading in self.readings if reading.name in read)
        functions = tuple(
            f for f in self.functions if _calls(body, f.name) or f.name.startswith("curve")
        )
        return Program(
            self.model, readings, tuple(body), functions, predictions, scores, self.contributions
        )

    def define(self, name: str, value: Expression, comment: str = "", required: str = "") -> Any:
        """Add a statement; return its name as an expression."""
        self.statements.append(Statement(name, value, comment, required))
        return variable(name)

    # -- inputs --------------------------------------------------------------------------

    def _inputs(self) -> Iterator[Reading]:
        used = {int(i) for tree in self.trees for i in tree.leaf_input}
        if not self.only_used:
            used = set(range(self.model.n_inputs))
        for position, column in enumerate(self.model.columns):
            if used.isdisjoint(column.inputs):
                continue
            readings = {
                operation: reading_of(operation, position, column)
                for operation in column.cell_operations
            }
            for i, expression in zip(column.inputs, column.expressions, strict=True):
                if i in used:
                    message = ""
                    if may_be_missing(expression):
                        message = (
                            f"value {position} is missing, and the model has no mean to replace it"
                        )
                    value = _read(expression, readings, frozenset(column.categories))
                    self.define(f"i{i}", value, self.model.inputs[i].name, message)
            yield from readings.values()

    # -- trees ---------------------------------------------------------------------------

    def _prefix(self, t: int) -> str:
        return "" if len(self.trees) == 1 else f"{t}_"

    def _node(self, t: int, j: int) -> Expression:
        word = ("log_odds" if self.is_log_odds else "o") if j < self.k else "n"
        number = "" if self.is_log_odds and j < self.k else f"{j}"
        return variable(
            f"{word}{self._prefix(t).rstrip('_') if not number else self._prefix(t)}{number}"
        )

    def _sums(self, t: int) -> Iterator[tuple[int, Expression, Expression]]:
        """Yield each node with its weighted sum and its activation, in the order of evaluation."""
        for node in nodes_of(self.trees[t]):
            terms = [(weight, self._input(i)) for weight, i in node.leaves]
            terms += [(weight, self._node(t, child)) for weight, child in node.children]
            yield node.position, weighted_sum(node.bias, terms), node.activation

    def _input(self, i: int) -> Expression:
        """Return an input, scaled if the weights are those of training."""
        if self.learning is None or self.learning.inputs is None:
            return variable(f"i{i}")
        offset, factor = (float(part[i]) for part in self.learning.inputs)
        return (variable(f"i{i}") - offset) * factor

    def _tree(self, t: int) -> Iterator[Expression]:
        for j, z, activation in self._sums(t):
            name = self.define(self._node(t, j).value, substitute(activation, {"z": z}))
            if j < self.k:
                if self.learning is None or self.learning.outputs is None:
                    yield name
                else:
                    offset, factor = (
                        np.broadcast_to(np.ravel(part), self.k)[j] for part in self.learning.outputs
                    )
                    yield name / float(factor) + float(offset) if factor else constant(offset)

    def _table(self) -> list[list[Expression]]:
        """Write the trees as tables that one call evaluates."""
        used = sorted({int(i) for tree in self.trees for i in tree.leaf_input})
        table = forest_of(list(map(nodes_of, self.trees)), used)
        self.functions += table.functions
        values = self.define(
            "trees", Expression("forest", tuple(variable(f"i{i}") for i in used), table)
        )
        entries = [Expression("entry", (values,), i) for i in range(table.n_values)]
        return [entries[t * self.k : (t + 1) * self.k] for t in range(len(self.trees))]

    # -- predictions ---------------------------------------------------------------------

    def _results(
        self, trees: list[list[Expression]]
    ) -> tuple[tuple[Expression, ...], tuple[Expression, ...]]:
        """Return predictions, and what decides on the class."""
        is_each = self.averages == "predictions" and not self.is_identity
        means = [self._mean(values) for values in zip(*trees, strict=True)]
        if len(trees) > 1 and (not is_each or self.with_contributions):
            means = [self.define(f"m{j}", value) for j, value in enumerate(means)]
        self.means = means
        if is_each:
            linked = [self._linked(outputs, t) for t, outputs in enumerate(trees)]
            values = [self._mean(entries) for entries in zip(*linked, strict=True)]
        else:
            values = self._linked(means, None)
        predictions = tuple(self._named_result(f"p{j}", value) for j, value in enumerate(values))
        if self.model.task != "classes":
            return predictions, ()
        if self.is_log_odds and not is_each:
            return predictions, tuple(means)
        return predictions, tuple(trees[0]) if self.model.decides_by_outputs else predictions

    @property
    def is_identity(self) -> bool:
        """Whether predictions are outputs."""
        return self.model.link == OUTPUTS

    def _named_result(self, name: str, value: Expression) -> Expression:
        return value if value.operation in ("variable", "entry") else self.define(name, value)

    def _mean(self, values: Sequence[Expression]) -> Expression:
        if len(values) == 1:
            return values[0]
        total = weighted_sum(0.0, [(1.0, value) for value in values])
        return total / float(len(values))

    def _linked(self, outputs: Sequence[Expression], t: int | None) -> list[Expression]:
        """Return the predictions of one vector of outputs; one of several calls a function."""
        if self.is_log_odds:
            return [sigmoid(-outputs[0]), sigmoid(outputs[0])]
        if t is None or not self.has_functions:
            return _components(self.model.link, outputs)
        names = tuple(f"o{j}" for j in range(self.k))
        if t == 0:
            results = _components(self.model.link, [variable(name) for name in names])
            body = [Statement(f"p{j}", value) for j, value in enumerate(results)]
            values = tuple(variable(f"p{j}") for j in range(self.k))
            self.functions.append(Function("link", names, tuple(named(body, values)), values))
        call = self.define(f"p_{t}", Expression("call", tuple(outputs), "link"))
        return [Expression("entry", (call,), j) for j in range(self.k)]

    # -- contributions -------------------------------------------------------------------

    def _contributions(self) -> tuple[tuple[Expression, ...], ...]:
        """Write the contribution of each column to each output that is explained."""
        baseline, n_columns = mean_row(self.model), len(self.model.columns)
        totals: list[list[list[Expression]]] = [
            [[] for _ in range(n_columns)] for _ in range(self.k)
        ]
        for t, tree in enumerate(self.trees):
            for (j, i), value in self._leaf_factors(t, tree, baseline).items():
                difference = weighted_sum(-float(baseline[i]), [(1.0, variable(f"i{i}"))])
                totals[j][int(self.model.column_of_input[i])].append(value * difference)
        rows = []
        for j, of_output in enumerate(totals):
            values = [weighted_sum(0.0, [(1.0, term) for term in terms]) for terms in of_output]
            if len(self.trees) > 1:
                values = [value / float(len(self.trees)) for value in values]
            if self.link != OUTPUTS:
                secant = self._secant(j, baseline)
                values = [_limited_product(value, secant) for value in values]
            rows.append(tuple(self._named_result(f"c{j}_{c}", v) for c, v in enumerate(values)))
        if is_difference(self.model) and not self.is_log_odds:
            first, second = rows
            pairs = enumerate(zip(first, second, strict=True))
            return (tuple(self.define(f"c_{c}", b - a) for c, (a, b) in pairs),)
        return tuple(rows)

    def _leaf_factors(
        self, t: int, tree: NeuralTree, baseline: FloatArray
    ) -> dict[tuple[int, int], Expression]:
        """Return the factor of each pair of output and input: the sum over all leaves of it."""
        sums = {j: z for j, z, _ in self._sums(t)}
        factors: list[Expression] = []
        starts = baseline_sums(nodes_of(tree), baseline)
        for j, formula in enumerate(tree.node_expressions):
            value = quotient(formula, starts[j], self.small)
            value = substitute(value, {"z": sums[j], "h": self._node(t, j)})
            if j >= tree.n_outputs:
                edge = constant(float(tree.edge[j - tree.n_outputs]))
                value = edge * factors[int(tree.parent[j])] * value
            is_name = value.is_constant or value.operation == "variable"
            factors.append(value if is_name else self.define(f"f{t}_{j}", value))
        output = outputs_above(tree.parent)[tree.leaf_parent].tolist()
        leaves = zip(
            output,
            tree.leaf_input.tolist(),
            tree.leaf_weight.tolist(),
            tree.leaf_parent,
            strict=True,
        )
        terms: dict[tuple[int, int], list[tuple[float, Expression]]] = {}
        for j, i, weight, node in leaves:
            terms.setdefault((j, i), []).append((weight, factors[int(node)]))
        return {
            pair: weighted_sum(
                sum(w * f.value for w, f in listed if f.is_constant),
                [(w, f) for w, f in listed if not f.is_constant],
            )
            for pair, listed in terms.items()
        }

    def _secant(self, j: int, baseline: FloatArray) -> Expression:
        """Write the factor of an elementwise link for an output."""
        formula = substitute(self.link, {"outputs": variable("z")})
        start = self.model.outputs(baseline[np.newaxis]).mean(axis=0)[0]
        values = {"z": self.means[j], "h": substitute(formula, {"z": self.means[j]})}
        value = substitute(quotient(formula, float(start[j]), self.small), values)
        return value if value.is_constant else self.define(f"s{j}", value)


def _calls(body: Sequence[Statement], name: str) -> bool:
    return any(s.value.operation == "call" and s.value.value == name for s in body)


def _limited_product(a: Expression, b: Expression) -> Expression:
    """Return a product that may be too large, limited to `LARGEST`."""
    largest = LARGEST / maximum(absolute(b), 1.0)
    return minimum(maximum(a, -largest), largest) * b


def _components(link: Expression, outputs: Sequence[Expression]) -> list[Expression]:
    """Return the entries of a vector expression of outputs."""
    if link.operation == "variable":
        return list(outputs)
    if link.is_constant:
        return [link] * len(outputs)
    values = [_components(part, outputs) for part in link.arguments]
    n = len(outputs)
    if link.operation == "total":
        return [weighted_sum(0.0, [(1.0, value) for value in values[0]])] * n
    if link.operation == "largest":
        return [values[0][0] if n == 1 else link.of(values[0])] * n
    if link.operation == "ordered":
        vector = tuple(values[0])
        ranks = link.value * n if len(link.value) == 1 else link.value
        return [vector[0] if n == 1 else Expression("ordered", vector, rank) for rank in ranks]
    return [rebuilt(link, parts) for parts in zip(*values, strict=True)]


def skeleton(expression: Expression) -> tuple[Expression, tuple[float, ...]]:
    """Return an expression with variables c0, c1, ... in place of its constants, and these.

    The -1 of a negation, and 0 in a comparison, are part of the form.

    Examples
    --------
    >>> skeleton(2.0 * sigmoid(-variable("z")))[1]
    (2.0,)
    """
    constants: list[float] = []

    def replaced(part: Expression, kept: float | None = None) -> Expression:
        if part.is_constant and part.value != kept:
            constants.append(part.value)
            return variable(f"c{len(constants) - 1}")
        kept = {"multiply": -1.0, "greater": 0.0}.get(part.operation)
        return part.of([replaced(each, kept) for each in part.arguments])

    return replaced(expression), tuple(constants)


def curve(form: Expression, name: str) -> Function:
    """Return a function of z and of constants, see `skeleton`, that computes a number."""
    constants = sorted(form.variables - {"z"}, key=lambda c: int(c[1:]))
    result = variable("value")
    body = named([Statement("value", form)], [result])
    return Function(name, ("z", *constants), tuple(body), (result,))


def forest_of(trees: Sequence[Sequence[Node]], inputs: Sequence[int]) -> Forest:
    """Return trees as tables; leaves have the places of their inputs in a sequence."""
    functions: dict[Expression, int] = {}
    place = {i: p for p, i in enumerate(inputs)}
    table: list[TableNode] = []
    most = 1
    for nodes in trees:
        n = 0
        for node in nodes:
            form, constants = skeleton(node.activation)
            function = functions.setdefault(form, len(functions))
            children = tuple(weight for weight, _ in reversed(node.children))
            leaves = tuple((weight, place[i]) for weight, i in node.leaves)
            table.append(
                TableNode(function, node.is_output, node.bias, children, leaves, constants)
            )
            n += (not node.is_output) - len(node.children)
            most = max(most, n)
    curves = tuple(curve(form, f"curve{i}") for form, i in functions.items())
    n_values = sum(node.is_output for node in table)
    return Forest(tuple(table), tuple(functions), curves, most, n_values)


def tree_function(nodes: Sequence[Node], name: str, curves: Mapping[Expression, str]) -> Function:
    """Return a tree as a function of inputs.

    Parameters
    ----------
    nodes : sequence of Node
        In the order of their statements.
    name : str
    curves : dict
        The names of functions of nodes that are called, by their form; others are written out.
    """
    body = []
    for node in nodes:
        terms = [(weight, variable(f"v{c}")) for weight, c in reversed(node.children)]
        terms += [(weight, variable(f"i{i}")) for weight, i in node.leaves]
        z = weighted_sum(node.bias, terms)
        form, constants = skeleton(node.activation)
        value = substitute(node.activation, {"z": z})
        if form in curves:
            value = Expression("curve", (z, *map(constant, constants)), curves[form])
        body.append(Statement(f"v{node.position}", value))
    outputs = sorted(node.position for node in nodes if node.is_output)
    results = tuple(variable(f"v{j}") for j in outputs)
    inputs = sorted({i for node in nodes for _, i in node.leaves})
    parameters = tuple(f"i{i}" for i in inputs)
    return Function(name, parameters, tuple(named(body, results)), results)


# -- cells --------------------------------------------------------------------------------


def _read(
    expression: Expression, readings: Mapping[str, Reading], texts: frozenset[str]
) -> Expression:
    """Return an expression of a cell as one of the variables that were read."""
    operation = expression.operation
    if operation not in CELLS:
        return expression.of([_read(part, readings, texts) for part in expression.arguments])
    value = variable(readings[operation].name)
    if operation == "number":
        return value
    if operation == "lookup":
        return Expression("lookup", (value,), _cases(expression.value, texts))
    return Expression(operation, (value,), expression.value)


def _cases(table: Lookup, texts: frozenset[str]) -> Cases:
    """Return the texts of each number, with all their spellings."""
    by_number: dict[float, list[str]] = {}
    if table.missing != table.unknown:
        by_number[table.missing] = []
    for text, number in zip(table.texts, table.numbers, strict=True):
        by_number.setdefault(number, []).extend(spellings(text, texts))
    cases = (
        Case(number, tuple(listed), number == table.missing) for number, listed in by_number.items()
    )
    return Cases(tuple(cases), table.unknown)
