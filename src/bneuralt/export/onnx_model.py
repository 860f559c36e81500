"""Fitted models in ONNX: standard operators, the encoding of the table included."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bneuralt import __version__
from bneuralt.export.onnx_graph import Graph
from bneuralt.export.onnx_trees import add_trees
from bneuralt.export.plan import Plan, PlanColumn, make_plan
from bneuralt.export.spellings import category_entries, missing_spellings, spellings
from bneuralt.tables.features import CategoryFeature, DateFeature
from bneuralt.tables.numbers import to_number

__all__ = ["OPSETS", "add_plan", "class_labels", "is_table_of_numbers", "to_onnx"]

#: Versions of the operators, by domain; understood by runtimes since 2022.
OPSETS = {"": 17, "ai.onnx.ml": 3}
IR_VERSION = 8


def to_onnx(model: Any, dtype: str = "double") -> Any:
    """Convert a fitted model to ONNX.

    Parameters
    ----------
    model : estimator
        A fitted tree or forest of this library.
    dtype : {"double", "float"}
        In which the trees compute. Inputs and outputs are float32 in any case. Trees are for
        unscaled features, so float loses digits where a column has a large mean and a small spread;
        use it for hardware that has nothing else.

    Returns
    -------
    onnx.ModelProto
        With the outputs that scikit-learn's converters have: ``label`` (int64 or string) and
        ``probabilities`` for classifiers, ``variable`` for regressors.

        A table of numbers is one float32 input ``X`` of shape (n_rows, n_columns), in which NaN is
        a missing value; categories that are numbers are columns like any other. If a column has
        texts or dates, each column is an input with its name, of shape (n_rows, 1): float32 for
        numbers, string for categories, and for dates int64, seconds since 1970 as in NumPy's
        ``datetime64[s]``.

    Raises
    ------
    ImportError
        The package onnx is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from bneuralt import BNeuralTClassifier, to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BNeuralTClassifier(max_epochs=20, random_state=0).fit(X, y)
    >>> import onnxruntime  # doctest: +SKIP
    >>> session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())  # doctest: +SKIP
    >>> label, probabilities = session.run(None, {"X": X.astype(np.float32)})  # doctest: +SKIP
    >>> np.allclose(probabilities, model.predict_proba(X), atol=1e-5)  # doctest: +SKIP
    True
    """
    helper, numpy_helper, checker = _onnx()
    kinds = {"double": np.float64, "float": np.float32}
    if dtype not in kinds:
        raise ValueError(f"dtype={dtype!r} must be 'double' or 'float'")
    plan = make_plan(model)
    graph = Graph(kinds[dtype])
    inputs, columns = _declared_inputs(plan)
    outputs = add_plan(graph, plan, columns)
    declared = []
    for output in outputs:
        graph.name(output.result, output.name)
        declared.append(_declared(output.name, output.dtype, output.shape))
    proto = helper.make_model(
        helper.make_graph(
            [
                helper.make_node(operator, given, results, domain=domain, **attributes)
                for operator, given, results, domain, attributes in graph.nodes
            ],
            "bneuralt",
            inputs,
            declared,
            [numpy_helper.from_array(array, name) for name, array in graph.constants.items()],
        ),
        opset_imports=[helper.make_opsetid(domain, version) for domain, version in OPSETS.items()],
        ir_version=IR_VERSION,
        producer_name="bneuralt",
        producer_version=__version__,
    )
    checker.check_model(proto, full_check=True)
    return proto


def _onnx() -> tuple[Any, Any, Any]:
    try:
        from onnx import checker, helper, numpy_helper
    except ImportError as error:
        raise ImportError("to_onnx needs the package onnx: pip install bneuralt[onnx]") from error
    return helper, numpy_helper, checker


class Output(NamedTuple):
    """A result of the graph."""

    name: str
    result: str
    dtype: Any
    shape: list[int | str]


def _declared(name: str, dtype: Any, shape: list[int | str]) -> Any:
    from onnx import TensorProto, helper

    kinds = {str: TensorProto.STRING, np.int64: TensorProto.INT64, np.float32: TensorProto.FLOAT}
    return helper.make_tensor_value_info(name, kinds[dtype], shape)


# -- inputs -------------------------------------------------------------------------------


def _is_number(column: PlanColumn) -> bool:
    feature = column.feature
    if isinstance(feature, DateFeature):
        return False
    if not isinstance(feature, CategoryFeature):
        return True
    return all(to_number(text) is not None for text in feature.categories)


def is_table_of_numbers(plan: Plan) -> bool:
    """Return whether all columns are numbers, or categories that are numbers."""
    return all(_is_number(column) for column in plan.columns)


def _declared_inputs(plan: Plan) -> tuple[list[Any], list[str] | str]:
    """Return the inputs, and the name of the table or the names of all columns."""
    n = len(plan.columns)
    if is_table_of_numbers(plan):
        return [_declared("X", np.float32, ["n_rows", n])], "X"
    names = [column.name for column in plan.columns]
    if len(set(names)) < n or "" in names:
        raise ValueError("columns with texts or dates become inputs, which need different names")
    kinds = [
        np.float32
        if _is_number(column)
        else np.int64
        if isinstance(column.feature, DateFeature)
        else str
        for column in plan.columns
    ]
    pairs = zip(names, kinds, strict=True)
    return [_declared(name, kind, ["n_rows", 1]) for name, kind in pairs], names


def add_plan(graph: Graph, plan: Plan, columns: list[str] | str) -> list[Output]:
    """Add all that a model does with a row.

    Parameters
    ----------
    graph : Graph
    plan : Plan
    columns : str or list of str
        Name of the table, of shape (n_rows, n_columns), or of each column.
    """
    outputs = add_trees(graph, plan.trees, _inputs(graph, plan, columns))
    return _outputs(graph, plan, outputs)


def _inputs(graph: Graph, plan: Plan, columns: list[str] | str) -> str:
    plain = all(
        not isinstance(c.feature, CategoryFeature | DateFeature) and not c.feature.has_gaps
        for c in plan.columns
    )
    if isinstance(columns, str) and plain:
        table = graph.cast(columns, graph.dtype)
        means = [getattr(column.feature, "mean", None) for column in plan.columns]
        filled = [np.nan if mean is None else mean for mean in means]
        return graph("Where", graph("IsNaN", table), graph.constant(filled), table)
    parts = []
    for i, column in enumerate(plan.columns):
        if not len(column.inputs):
            continue
        value = columns[i] if not isinstance(columns, str) else ""
        if isinstance(columns, str):
            value = graph("Gather", columns, graph.integers([i]), axis=1)
        parts.append(_column(graph, column, value))
    return graph("Concat", *parts, axis=1)


def _column(graph: Graph, column: PlanColumn, value: str) -> str:
    feature = column.feature
    if isinstance(feature, CategoryFeature):
        return _category(graph, column, feature, value)
    if isinstance(feature, DateFeature):
        return _date(graph, feature, value)
    gap = graph("IsNaN", value)
    number = graph.cast(value, graph.dtype)
    mean = np.nan if feature.mean is None else feature.mean
    number = graph("Where", gap, graph.constant(mean), number)
    if not feature.has_gaps:
        return number
    return graph("Concat", number, graph.cast(gap, graph.dtype), axis=1)


def _category(graph: Graph, column: PlanColumn, feature: CategoryFeature, value: str) -> str:
    """Look up the entry of each value, and the inputs of each entry."""
    table, unknown, missing = category_entries(feature)
    if _is_number(column):
        # categories that differ in float64 only cannot be told apart here
        keys = [float(np.float32(text)) for text in feature.categories]
        entry = _lookup(graph, value, "keys_floats", keys, unknown)
        entry = graph("Where", graph("IsNaN", value), graph.integers(missing), entry)
    else:
        positions = dict.fromkeys(_missing_texts(), missing)
        for i, category in enumerate(feature.categories):
            positions |= dict.fromkeys(spellings(category, feature.categories), i)
        entry = _lookup(
            graph, value, "keys_strings", list(positions), unknown, list(positions.values())
        )
    flat = graph("Reshape", entry, graph.integers([-1]))
    return graph("Gather", graph.constant(table), flat, axis=0)


def _lookup(
    graph: Graph, value: str, kind: str, keys: list[Any], default: int, found: Any = None
) -> str:
    values = list(range(len(keys))) if found is None else found
    if not keys:  # all values are rare
        keys, values = [0.0 if kind == "keys_floats" else ""], [default]
    attributes: dict[str, Any] = {kind: keys, "values_int64s": values, "default_int64": default}
    return graph("LabelEncoder", value, domain="ai.onnx.ml", **attributes)


def _missing_texts() -> list[str]:
    """Return the usual spellings of texts that stand for a missing value."""
    texts = ["None", "NaN", "-NaN"]
    for text in missing_spellings():
        texts += [text, text.upper(), text.capitalize()]
    return list(dict.fromkeys(texts))


def _date(graph: Graph, feature: DateFeature, seconds: str) -> str:
    """Compute the parts of dates by the calendar of days since the year 0."""
    missing = graph("Equal", seconds, graph.integers(np.iinfo(np.int64).min))
    seconds = graph("Where", missing, graph.integers(0), seconds)

    def whole(operator: str, a: str, b: int) -> str:
        return graph(operator, a, graph.integers(b))

    # all numbers are positive from here on, so that divisions round down
    shifted = whole("Add", seconds, 719468 * 86400)
    day = whole("Div", shifted, 86400)
    era = whole("Div", day, 146097)
    of_era = graph("Sub", day, whole("Mul", era, 146097))
    without_leap_days = graph("Sub", of_era, whole("Div", of_era, 1460))
    centuries = graph("Sub", whole("Div", of_era, 36524), whole("Div", of_era, 146096))
    # of the era, from March on
    year = whole("Div", graph("Add", without_leap_days, centuries), 365)
    before = graph("Sub", graph("Add", whole("Mul", year, 365), whole("Div", year, 4)),
                   whole("Div", year, 100))  # fmt: skip
    of_year = graph("Sub", of_era, before)
    month = whole("Div", whole("Add", whole("Mul", of_year, 5), 2), 153)
    month = whole("Add", whole("Mod", whole("Add", month, 2), 12), 1)
    late = graph.cast(graph("Less", month, graph.integers(3)), np.int64)
    parts = {
        "year": graph("Add", graph("Add", year, whole("Mul", era, 400)), late),
        "month": month,
        "weekday": whole("Mod", whole("Add", day, 2), 7),
        "hour": whole("Div", whole("Mod", shifted, 86400), 3600),
    }
    found = [
        graph("Where", missing, graph.constant(mean), graph.cast(parts[part], graph.dtype))
        for part, mean in zip(feature.parts, feature.means, strict=True)
    ]
    if feature.has_gaps:
        found.append(graph.cast(missing, graph.dtype))
    return graph("Concat", *found, axis=1)


# -- outputs ------------------------------------------------------------------------------


def class_labels(plan: Plan) -> list[int] | list[str]:
    """Return the labels as ONNX can have them: all whole numbers, or all texts."""
    classes = plan.classes or ()
    if all(isinstance(label, int) or (isinstance(label, float) and label.is_integer())
           for label in classes):  # fmt: skip
        return [int(label) for label in classes]
    return list(plan.output_names)


def _outputs(graph: Graph, plan: Plan, outputs: str) -> list[Output]:
    k, n_trees = plan.n_outputs, len(plan.trees)
    values = outputs
    if n_trees > 1:
        values = graph("Reshape", outputs, graph.integers([-1, n_trees, k]))
    values = _combined(graph, plan, values)
    if n_trees > 1:
        total = graph("ReduceSum", values, graph.integers([1]), keepdims=0)
        values = graph("Div", total, graph.constant(float(n_trees)))
    if plan.task == "numbers":
        if plan.combine == "exp":
            values = graph("Exp", values)
        if plan.combine == "sort":
            values = _ranked(graph, plan, values)
        return [Output("variable", graph.cast(values, np.float32), np.float32, ["n_rows", k])]
    shares = Output("probabilities", graph.cast(values, np.float32), np.float32, ["n_rows", k])
    if plan.task == "labels":
        found = graph.cast(graph("Greater", values, graph.constant(0.5)), np.int64)
        return [Output("label", found, np.int64, ["n_rows", k]), shares]
    position = graph("ArgMax", outputs if plan.argmax_of_outputs else values, axis=1, keepdims=0)
    labels = class_labels(plan)
    kind: Any = np.int64 if isinstance(labels[0], int) else str
    listed = graph.constant(np.array(labels, dtype=object if kind is str else np.int64),
                            object if kind is str else np.int64)  # fmt: skip
    return [Output("label", graph("Gather", listed, position, axis=0), kind, ["n_rows"]), shares]


def _combined(graph: Graph, plan: Plan, values: str) -> str:
    """Make probabilities of the outputs of each tree; the last axis is that of the outputs."""
    if plan.combine == "softmax":
        return graph("Softmax", values, axis=-1)
    if plan.combine == "sigmoid":
        return graph("Sigmoid", values)
    if plan.combine == "clip":
        return graph("Clip", values, graph.constant(0.0), graph.constant(1.0))
    if plan.combine == "shares":
        shares = graph(
            "Max", values, graph.constant(max(plan.smallest, np.finfo(graph.dtype).tiny))
        )
        return graph("Div", shares, graph("ReduceSum", shares, graph.integers([-1]), keepdims=1))
    return values


def _ranked(graph: Graph, plan: Plan, values: str) -> str:
    """Sort the values of each row, and take each from its rank."""
    count = graph.integers([plan.n_outputs])
    ascending = graph("TopK", values, count, axis=1, largest=0, sorted=1, n_results=2)
    return graph("Gather", ascending, graph.integers(plan.order), axis=1)
