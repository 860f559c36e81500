"""Fitted models as one Python function without imports.

The function is straight-line code: an assignment for each input and for each node, in the order in
which they are needed. It runs in any Python 3, without this library and without NumPy.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from typing import Any

from bneuralt import __version__
from bneuralt.export.nodes import Node, nodes_of
from bneuralt.export.plan import Plan, PlanColumn, make_plan
from bneuralt.export.spellings import category_entries, missing_spellings, spellings
from bneuralt.tables.features import CategoryFeature, DateFeature

__all__ = ["to_python"]

# exp is a power of e; its argument is limited as in the core, to what a float can hold.
_HELPERS = {
    "exp": """
    def exp(z):
        return 2.718281828459045 ** max(-708.0, min(708.0, z))
""",
    "sigmoid": """
    def sigmoid(z):
        return 1.0 / (1.0 + exp(-z))
""",
    "tanh": """
    def tanh(z):
        e = exp(-2.0 * abs(z))
        return (1.0 - e) / (1.0 + e) if z > 0.0 else (e - 1.0) / (1.0 + e)
""",
    "number": """
    def number(value):
        if isinstance(value, str) and (value.strip().lower() in MISSING or value == "None"):
            return None
        return None if value is None or value != value else float(value)
""",
    "label": """
    def label(value):
        if value is None or value != value:
            return None
        if isinstance(value, float) and value == int(value):
            value = int(value)
        text = str(value).strip()
        return None if text.lower() in MISSING or text == "None" else text
""",
    "date": """
    def date(value):
        if value is None or value != value:
            return None
        if isinstance(value, str):
            if value.strip().lower() in MISSING or value == "None":
                return None
            day, _, time = value.strip().replace("T", " ").partition(" ")
            year, month, day = (int(part) for part in day.replace("/", "-").split("-"))
            hour = int(time.partition(":")[0] or 0)
        else:
            year, month, day, hour = value.year, value.month, value.day, getattr(value, "hour", 0)
        shifted = year - (month < 3)
        weekday = (shifted + shifted // 4 - shifted // 100 + shifted // 400
                   + (0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4)[month - 1] + day - 1) % 7
        return {"year": year, "month": month, "weekday": weekday, "hour": hour}
""",
}
_NEEDS = {"sigmoid": ["exp"], "tanh": ["exp"]}

_CALLS: dict[str, str] = {
    "linear": "{z}",
    "sigmoid": "sigmoid({z})",
    "tanh": "tanh({z})",
    "relu": "max(0.0, {z})",
    "gaussian": "exp(-((({z}) - {a}) / {b}) ** 2)",
    "linear_sigmoid": "{a} * sigmoid({z}) + {b}",
    "linear_tanh": "{a} * tanh({z}) + {b}",
    "bipolar": "tanh({a} * ({z})) / {a}",
    "unipolar": "{a2} * sigmoid({a2} * ({z}))",
}


def to_python(model: Any, name: str = "predict") -> str:
    """Write a fitted model as one Python function without imports.

    Parameters
    ----------
    model : estimator
        A fitted tree or forest of this library.
    name : str
        Name of the function.

    Returns
    -------
    str
        Source code. The function takes the values of one row, in the order of the columns in
        training: numbers, texts, dates (as objects with `year`, `month`, `day`, or as text such as
        ``2024-05-31 14:00``), None or NaN for missing values. It returns

        - for classes: the label, and a tuple of the probabilities of all classes;
        - for several labels: a tuple of 0 or 1 for each, and a tuple of their probabilities;
        - for numbers: the number, or a tuple of them.

    Raises
    ------
    ValueError
        The name is not one that Python allows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bneuralt import BNeuralTClassifier, to_python
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BNeuralTClassifier(max_epochs=20, random_state=0).fit(X, y)
    >>> namespace = {}
    >>> exec(to_python(model), namespace)
    >>> label, probabilities = namespace["predict"](X[0])
    >>> label, len(probabilities)
    (0, 3)
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(f"name={name!r} is not a name that a Python function can have")
    plan = make_plan(model)
    body = [*_inputs(plan), *_trees(plan), *_result(plan)]
    text = "\n".join(body)
    lines = [f"# Written by bneuralt {__version__}.", f"def {name}(row):", *_docstring(plan)]
    if any(f"{helper}(" in text for helper in ("number", "label", "date")):
        lines.append(f"    MISSING = {(*missing_spellings(),)!r}")
    lines += [helper.strip("\n") for helper in _helpers(text)]
    return "\n".join([*lines, "", text, ""])


def _docstring(plan: Plan) -> Iterator[str]:
    yield '    """Return the prediction for one row, a sequence of the values of these columns:'
    yield ""
    for i, column in enumerate(plan.columns):
        yield f"    {i}: {_comment(column.name)}"
    yield '    """'


def _comment(text: str) -> str:
    """Return a text that cannot end a docstring or a line."""
    return ascii(text)[1:-1].replace('"', "'").replace("\\", "/")


def _helpers(text: str) -> Iterator[str]:
    wanted = {helper for helper in _HELPERS if f"{helper}(" in text}
    wanted |= {needed for helper in wanted for needed in _NEEDS.get(helper, ())}
    return (code for helper, code in _HELPERS.items() if helper in wanted)


# -- inputs -------------------------------------------------------------------------------


def _inputs(plan: Plan) -> Iterator[str]:
    used = {int(i) for tree in plan.trees for i in tree.leaf_input}
    for position, column in enumerate(plan.columns):
        if used.isdisjoint(column.inputs):
            continue
        yield from _column(position, column)


def _column(position: int, column: PlanColumn) -> Iterator[str]:
    feature, inputs = column.feature, [f"i{i}" for i in column.inputs]
    if isinstance(feature, CategoryFeature):
        table, unknown, missing = category_entries(feature)
        known = {
            text: i
            for i, category in enumerate(feature.categories)
            for text in spellings(category, feature.categories)
        }
        yield f"    entry = label(row[{position}])"
        yield f"    entry = {missing} if entry is None else {known!r}.get(entry, {unknown})"
        for k, name in enumerate(inputs):
            yield f"    {name} = {(*(row[k] for row in table),)!r}[entry]"
        return
    if isinstance(feature, DateFeature):
        yield f"    value = date(row[{position}])"
        for name, part, mean in zip(inputs, feature.parts, feature.means, strict=False):
            yield f"    {name} = {mean!r} if value is None else value[{part!r}]"
    else:
        yield f"    value = number(row[{position}])"
        if feature.mean is None:
            yield "    if value is None:"
            yield f'        raise ValueError("value {position} is missing, its mean is not known")'
            yield f"    {inputs[0]} = value"
        else:
            yield f"    {inputs[0]} = {feature.mean!r} if value is None else value"
    if feature.has_gaps:
        yield f"    {inputs[-1]} = 1.0 if value is None else 0.0"


# -- trees --------------------------------------------------------------------------------


def _trees(plan: Plan) -> Iterator[str]:
    for t, tree in enumerate(plan.trees):
        for node in nodes_of(tree):
            target = f"o{t}_{node.position}" if node.position < tree.n_outputs else None
            yield from _node(node, target or f"n{node.position}")


def _node(node: Node, target: str) -> Iterator[str]:
    terms = [repr(node.bias)]
    terms += [f"{weight!r} * i{i}" for weight, i in node.leaves]
    terms += [f"{weight!r} * n{child}" for weight, child in node.children]
    total = " + ".join(terms)
    if node.activation == "leaky_relu":
        yield f"    z = {total}"
        yield f"    {target} = z if z > 0.0 else {node.parameters[0]!r} * z"
        return
    if node.activation not in _CALLS:
        raise ValueError(f"activation {node.activation!r} cannot be written as Python code")
    values = dict(zip("ab", (f"({value!r})" for value in node.parameters), strict=False))
    if node.activation == "unipolar":
        values["a2"] = repr(2.0 * abs(node.parameters[0]))
    yield f"    {target} = {_CALLS[node.activation].format(z=total, **values)}"


# -- the prediction -----------------------------------------------------------------------


def _result(plan: Plan) -> Iterator[str]:
    k, n_trees = plan.n_outputs, len(plan.trees)
    for t in range(n_trees):
        outputs = [f"o{t}_{j}" for j in range(k)]
        if plan.combine == "softmax":
            yield f"    largest = max({', '.join(outputs)}, {outputs[0]})"
            yield f"    p{t} = [{', '.join(f'exp({o} - largest)' for o in outputs)}]"
            yield f"    total = sum(p{t})"
            yield f"    p{t} = [p / total for p in p{t}]"
        elif plan.combine == "shares":
            shares = ", ".join(f"max({o}, {plan.smallest!r})" for o in outputs)
            yield f"    p{t} = [{shares}]"
            yield f"    total = sum(p{t})"
            yield f"    p{t} = [p / total for p in p{t}]"
        elif plan.combine == "sigmoid":
            yield f"    p{t} = [{', '.join(f'sigmoid({o})' for o in outputs)}]"
        elif plan.combine == "clip":
            yield f"    p{t} = [{', '.join(f'min(1.0, max(0.0, {o}))' for o in outputs)}]"
        else:
            yield f"    p{t} = [{', '.join(outputs)}]"
    if n_trees == 1:
        yield "    mean = p0"
    else:
        listed = ", ".join(f"p{t}" for t in range(n_trees))
        yield f"    mean = [sum(values) / {n_trees}.0 for values in zip({listed})]"
    if plan.task == "classes":
        by = f"[{', '.join(f'o0_{j}' for j in range(k))}]" if plan.argmax_of_outputs else "mean"
        yield f"    scores = {by}"
        yield f"    return {plan.classes!r}[scores.index(max(scores))], tuple(mean)"
    elif plan.task == "labels":
        yield "    return tuple(int(p > 0.5) for p in mean), tuple(mean)"
    else:
        if plan.combine == "exp":
            yield "    mean = [exp(value) for value in mean]"
        elif plan.combine == "sort":
            yield "    ranked = sorted(mean)"
            yield f"    mean = [ranked[i] for i in {plan.order!r}]"
        yield "    return mean[0]" if k == 1 else "    return tuple(mean)"
