"""Conversion of inputs to whole numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bneuralt._typing import FloatArray, IntArray
from bneuralt.export.cell_reads import cell_reads, gap_values, text_values
from bneuralt.export.integer.formats import IntegerFormat
from bneuralt.export.integer.number_units import NumberUnit, number_units
from bneuralt.export.integer.shared_errors import SharedError
from bneuralt.export.integer.weighted_sums import Term
from bneuralt.model import Model
from bneuralt.tables.features import Input

__all__ = ["InputUnits", "input_units"]


class InputUnits(NamedTuple):
    """How inputs become whole numbers: ``round((x - middle) / unit)``, clipped.

    Attributes
    ----------
    middle, unit : arrays of shape (n_inputs,)
        A unit of 0 stands for an input that does not vary.
    low, high : arrays of shape (n_inputs,)
        The range in training, for which bounds hold.
    group : int array of shape (n_inputs,)
        -1 for numbers. Inputs that are 0 or 1, of which no more than one is 1, have the same
        group: those of a category.
    group_size : int array of shape (n_inputs,)
        If one of the inputs of a group is 1 always, the number of these inputs, otherwise 0.
    share : array of shape (n_inputs,)
        Value of the inputs of a group for an unknown category.
    error : array of shape (n_inputs,)
        The largest error of an input by rounding: half a unit, or more if it is computed from a
        whole number.
    numbers : dict of int to NumberUnit
        The numbers of which inputs are computed.
    """

    middle: FloatArray
    unit: FloatArray
    low: FloatArray
    high: FloatArray
    group: IntArray
    group_size: IntArray
    share: FloatArray
    error: FloatArray
    numbers: dict[int, NumberUnit]

    def computed(self, inputs: IntArray, numbers: FloatArray, top: int) -> IntArray:
        """Return whole inputs, those of `numbers` computed from the numbers of a table."""
        inputs = inputs.copy()
        for i, number in self.numbers.items():
            whole = number.encode(numbers[:, i])
            for j, line in number.lines.items():
                inputs[:, j] = line(whole, top)
        return inputs

    def encode(self, inputs: FloatArray, top: int) -> IntArray:
        """Return inputs as whole numbers."""
        factor = np.where(self.unit > 0, 1.0 / np.where(self.unit > 0, self.unit, 1.0), 0.0)
        with np.errstate(over="ignore"):
            scaled = np.floor((inputs - self.middle) * factor + 0.5)
        return np.clip(scaled, -top, top).astype(np.int64)

    def terms(self, top: int) -> list[Term]:
        """Return the inputs as terms of sums."""
        shares = self.encode(np.where(self.group >= 0, self.share, self.middle)[np.newaxis], top)
        rows = zip(*(column.tolist() for column in (*self[:6], shares[0])), strict=True)
        terms = []
        for i, (middle, unit, low, high, *grouped) in enumerate(rows):
            error = SharedError(factors={("rounding", i): (float(self.error[i]),) * 2})
            terms.append(Term(middle, unit, top + 1, low, high, error, i, *grouped))
        return terms


def input_units(model: Model, format: IntegerFormat, ranges: FloatArray) -> InputUnits:
    """Return the units of the inputs of a model.

    Parameters
    ----------
    model : Model
    format : IntegerFormat
    ranges : array of shape (n_inputs, 2)
        Smallest and largest value of each input. Values outside are clipped.
    """
    low, high = np.asarray(ranges, dtype=np.float64).T
    half = high / 2 - low / 2
    middle, unit = low / 2 + high / 2, np.where(half > 1e-290, half / format.top, 0.0)
    group, size = np.full(model.n_inputs, -1), np.zeros(model.n_inputs, dtype=np.int64)
    for column in model.columns:
        of_text = []
        for j in column.inputs:
            reads = cell_reads(model.inputs[j].expression)
            if reads.has_text:
                of_text.append(j)
            elif not reads.values and set(gap_values(model.inputs[j])) <= {0.0, 1.0}:
                group[j] = j
        if of_text:
            rows = _training_rows([model.inputs[j] for j in of_text], column.categories)
            if np.isin(rows, (0.0, 1.0)).all() and (rows.sum(axis=1) <= 1).all():
                group[of_text] = of_text[0]
                size[of_text] = len(of_text) if (rows.sum(axis=1) == 1).all() else 0
    is_number = group < 0
    means = [entry.mean or 0.0 for entry in model.inputs]
    numbers = number_units(model, format, np.stack([low, high], axis=1), middle, unit)
    error = np.where(is_number, unit / 2, 0.0)
    for number in numbers.values():
        for j, line in number.lines.items():
            error[j] = max(error[j], line.error)
    return InputUnits(
        np.where(is_number, middle, 0.0),
        np.where(is_number, unit, 1.0 / format.top),
        np.where(is_number, low, 0.0),
        np.where(is_number, high, 1.0),
        group,
        size,
        np.where(is_number, 0.0, means),
        error,
        numbers,
    )


def _training_rows(inputs: list[Input], texts: tuple[str, ...]) -> FloatArray:
    """Return the different rows of inputs of a text in training.

    A value that did not occur in training becomes the mean of the training rows.
    """
    rows = np.unique(text_values(inputs, texts), axis=0)
    means = np.array([entry.mean for entry in inputs], dtype=np.float64)
    training: FloatArray = rows[(rows != means).any(axis=1)]
    return training
