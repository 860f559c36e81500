"""A program is the model: an interpreter of its statements computes what the model computes."""

import numpy as np
import pytest

from bneuralt.export.program import Program
from bneuralt.expressions import OPERATIONS
from tests.helpers.fitted_models import random_model


def value_of(expression, names, functions):
    """Compute an expression of a program, with NumPy."""
    operation, value = expression.operation, expression.value
    if operation == "variable":
        return names[value]
    if operation == "constant":
        return value
    parts = [value_of(part, names, functions) for part in expression.arguments]
    if operation == "weighted_sum":
        return value[0] + sum(w * part for w, part in zip(value[1:], parts, strict=True))
    if operation == "entry":
        return parts[0][value]
    if operation == "largest":
        return np.max(parts, axis=0)
    if operation == "ordered":
        return np.sort(parts, axis=0)[value]
    if operation == "call":
        function = functions[value]
        inner = dict(zip(function.parameters, parts, strict=True))
        run(function.body, inner, functions)
        return [value_of(result, inner, functions) for result in function.results]
    return OPERATIONS[operation].value(*parts)


def run(body, names, functions):
    for statement in body:
        names[statement.name] = value_of(statement.value, names, functions)


def predictions(program, rows):
    names = {reading.name: rows[:, reading.column] for reading in program.readings}
    functions = {function.name: function for function in program.functions}
    run(program.body, names, functions)
    shape = np.zeros(len(rows))
    return np.stack(
        [value_of(value, names, functions) + shape for value in program.predictions], axis=1
    )


def drawn_models():
    for seed in range(0, 64):
        drawn = random_model(seed, 30, tables=("numbers", "gaps"))
        yield drawn, drawn.rows.to_numpy(), drawn.expected


def test_programs_compute_the_predictions():
    for drawn, rows, (_, expected, _) in drawn_models():
        values = predictions(Program.of(drawn.described), rows)
        size = np.maximum(1.0, np.abs(expected))
        np.testing.assert_allclose(values / size, expected / size, rtol=0, atol=1e-9)


def test_programs_of_trees_as_training_left_them():
    n = 0
    for drawn, rows, (_, expected, _) in drawn_models():
        model = drawn.model.model_
        if model.learning is None or len(model.trees) > 1:
            with pytest.raises(ValueError, match=r"learning is for models of|cannot learn"):
                Program.of(model, learning=True)
            continue
        values = predictions(Program.of(model, learning=True), rows)
        inside = (np.abs(rows) < 1e5).all(axis=1) & np.isfinite(expected).all(axis=1)
        size = np.maximum(1.0, np.abs(expected))
        np.testing.assert_allclose(
            (values / size)[inside], (expected / size)[inside], rtol=0, atol=1e-3
        )
        n += 1
    assert n > 10


def test_unused_inputs_are_left_out_unless_they_are_asked_for():
    drawn = random_model(3, 5)
    model = drawn.model.model_
    used, every = Program.of(model), Program.of(model, only_used=False)
    assert sum(bool(s.comment) for s in every.body) == model.n_inputs
    assert sum(bool(s.comment) for s in used.body) == len(used.model.used_inputs)


def test_equal_parts_have_one_name_and_nothing_is_unneeded():
    for drawn, *_ in drawn_models():
        program = Program.of(drawn.described)
        values = [s.value for s in program.body if s.value.arguments]
        assert len(values) == len(set(values))
        names = [s.name for s in program.body]
        assert len(names) == len(set(names))
        needed = set().union(*(v.variables for v in [*program.predictions, *program.scores]))
        for statement in reversed(program.body):
            assert statement.name in needed or statement.required
            needed |= statement.value.variables


def test_long_forests_are_tables():
    drawn = random_model(10, 5)
    (call,) = [s for s in Program.of(drawn.described, most_nodes=2).body if s.name == "trees"]
    table, trees = call.value.value, drawn.described.simplified().trees
    assert table.n_values == len(trees) * trees[0].n_outputs
    assert len(table.numbers) >= sum(tree.n_parameters for tree in trees)
