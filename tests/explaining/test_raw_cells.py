"""Cells of a table as explanations show them."""

import numpy as np
import pandas as pd

from bneuralt import BNeuralTRegressor
from bneuralt.explaining.raw_cells import raw_cells
from bneuralt.tables.columns import Column, Frame


def test_cells_are_those_of_the_table_and_gaps_are_none():
    dates = np.array(["2020-02-29", "NaT", "2021-01-01"], dtype="datetime64[s]")
    frame = Frame(
        [
            Column("text", np.array([0, 1, -1], np.int32), ("red", "green")),
            Column("number", np.array([0.0, np.nan, 2.5])),
            Column("date", dates),
        ],
        ["colour", "size", "day"],
    )
    assert raw_cells(frame).tolist() == [
        ["red", 0.0, "2020-02-29T00:00:00"],
        ["green", None, None],
        [None, 2.5, "2021-01-01T00:00:00"],
    ]


def test_explanations_name_the_first_category_too():
    X = pd.DataFrame({"colour": ["blue", "red"] * 20, "size": np.arange(40.0)})
    model = BNeuralTRegressor(max_epochs=2, random_state=0).fit(X, X["size"])
    assert model.explain(X).data[:2, 0].tolist() == ["blue", "red"]


def test_more_steps_of_integrated_gradients_are_closer_to_the_difference_of_outputs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * 3
    model = BNeuralTRegressor(max_epochs=30, random_state=0, dtype="float64")
    model.fit(X, np.sin(X[:, 0]) + X[:, 1])
    errors = []
    for n_steps in (1, 64):
        shares = model.explain(X, method="integrated_gradients", n_steps=n_steps)
        total = shares.baseline + shares.values.sum(axis=1)
        errors.append(np.abs(total.ravel() - model.predict(X)).max())
    assert errors[1] < 0.1 * errors[0]


def test_the_number_of_steps_of_integrated_gradients_is_32():
    X = np.random.default_rng(0).normal(size=(40, 2)) * 3
    model = BNeuralTRegressor(max_epochs=3, random_state=0, dtype="float64").fit(X, X[:, 0])
    usual, same, other = (
        model.explain(X, method="integrated_gradients", **steps).values
        for steps in ({}, {"n_steps": 32}, {"n_steps": 33})
    )
    np.testing.assert_array_equal(usual, same)
    assert not np.array_equal(usual, other)
