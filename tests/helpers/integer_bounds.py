"""The error bound of integer models, computed by another route, and a search for large errors.

`bneuralt.export.integer` derives the bound while it chooses integers, in float64. Here it is
derived afterwards from the integers that were chosen, step by step of the integer program, with 30
digits; tables are looked up for all arguments, and the powers of the softmax are enumerated.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import NamedTuple

import mpmath
import numpy as np
from mpmath import mpf

from bneuralt.export.integer.integer_model import (
    _have_same_outputs,
    _with_linear_outputs,
    _with_output_function,
)
from bneuralt.export.integer.integer_trees import _Converter, _integer_forms
from bneuralt.export.nodes import nodes_of
from bneuralt.expressions import derivative, evaluate, knots
from bneuralt.tables.columns import Column

mpmath.mp.dps = 30
ONE = mpf(2) ** 15
#: A stated bound may be larger than the computed one by this, by the bits of the integers: it takes
#: the errors of tables from blocks of arguments, which are longer in 8 bits (200 models: 1.122).
MOST = {8: 1.15, 16: 1.02}


class Error(NamedTuple):
    """A number between two ends, plus a sum over unknowns between -1 and 1 times factors."""

    low: mpf
    high: mpf
    shared: dict[tuple[str, int], tuple[mpf, mpf]]

    @property
    def ends(self):
        """The smallest and the largest error."""
        most = sum((max(abs(a), abs(b)) for a, b in self.shared.values()), mpf(0))
        return self.low - most, self.high + most

    def widened(self, low, high):
        """Return the error plus a number between two ends."""
        return Error(self.low + low, self.high + high, self.shared)

    def times(self, a, b):
        """Return the error times a number between two ends."""
        shared = {key: _product((a, b), factor) for key, factor in self.shared.items()}
        return Error(*_product((a, b), (self.low, self.high)), shared)


def _product(a, b):
    products = [x * y for x in a for y in b]
    return min(products), max(products)


def _total(errors):
    shared = defaultdict(lambda: (mpf(0), mpf(0)))
    low = high = mpf(0)
    for error in errors:
        low, high = low + error.low, high + error.high
        for key, (a, b) in error.shared.items():
            shared[key] = shared[key][0] + a, shared[key][1] + b
    return Error(low, high, dict(shared))


class Value(NamedTuple):
    """An input or a node: it is ``offset + unit * integer``, up to an error."""

    offset: mpf
    unit: mpf
    low: mpf
    high: mpf
    error: Error
    group: int = -1
    group_size: int = 0
    input: int = -1


def tree_bounds(integers):
    """Return the bound on each output of each tree, of shape (n_trees, n_outputs)."""
    trees = [
        _with_output_function(nodes_of(tree), integers.link.activation)
        for tree in integers.model.trees
    ]
    if integers.link.combine == "sum" or not _have_same_outputs(trees):
        trees = [_with_linear_outputs(nodes) for nodes in trees]
    forms, _ = _integer_forms(trees, integers.inputs, integers.format)
    return np.array([
        _tree_bound(integers, tree, nodes, forms)
        for tree, nodes in zip(integers.trees, trees, strict=True)
    ])  # fmt: skip


def _inputs(integers):
    units, values = integers.inputs, []
    for i in range(len(units.middle)):
        middle, unit, low, high = (mpf(float(part[i])) for part in units[:4])
        group = int(units.group[i])
        error = max(unit / 2, mpf(_computed_error(integers, i)))
        shared = {} if group >= 0 else {("rounding", i): (error, error)}
        size = int(units.group_size[i])
        error = Error(mpf(0), mpf(0), shared)
        values.append(Value(middle, unit, low, high, error, group, size, i))
    return values


def _computed_error(integers, i):
    """The largest error of an input that is computed from a whole number; 0 for other inputs.

    All whole numbers are tried; each stands for the numbers that are rounded to it, of which the
    ends and the bends of the input matter. Numbers beyond the largest are outside of training.
    """
    units = [n for n in integers.inputs.numbers.values() if i in n.lines]
    if not units:
        return 0.0
    (unit,), expression = units, integers.model.inputs[i].expression
    whole = np.arange(-32767, 32768)
    middle, step = np.longdouble(unit.middle), np.longdouble(unit.unit)
    value_middle, value_unit = integers.inputs.middle[i], integers.inputs.unit[i]
    values = value_middle + value_unit * unit.lines[i](whole, integers.format.top)
    reach = value_unit * integers.format.top
    bends = np.array(knots(expression), dtype=np.longdouble)
    places = np.rint((bends - middle) / step).clip(-32767, 32767).astype(int)
    largest = 0.0
    for at, x in (
        (whole, middle + step * whole),
        (whole, middle + step * (whole - np.longdouble(0.5))),
        (whole, middle + step * (whole + np.longdouble(0.5))),
        (places, bends),
    ):
        x = x.clip(middle - 32767 * step, middle + 32767 * step)
        real = evaluate(expression, {}, Column("number", x.astype(np.float64)))
        real = real.clip(value_middle - reach, value_middle + reach)
        largest = max(largest, np.abs(values[at + 32767] - real).max(initial=0.0))
    return float(largest)


def _tree_bound(integers, tree, nodes, forms):
    """Follow the nodes of a tree in the order of their evaluation."""
    format, inputs = integers.format, _inputs(integers)
    # Values of nodes without a table have units of their own, which the program does not store.
    units = _Converter(nodes, forms, tree.tables, integers.inputs, format).terms
    values: dict[int, Value] = {}
    bounds = []
    for whole, node in zip(tree.nodes, nodes, strict=True):
        form = forms[node.activation]
        terms = [
            (w, k, values[c]) for (w, c), k in zip(node.children, whole.children[::-1], strict=True)
        ]
        terms += [
            (w, k, inputs[i]) for (w, i), (j, k) in zip(node.leaves, whole.leaves, strict=True)
        ]
        terms = [(mpf(form.gain) * mpf(w), k, value) for w, k, value in terms]
        bias = mpf(form.gain) * mpf(node.bias) + mpf(form.shift)
        if whole.kind in tree.tables:
            value = _with_table(tree.tables[whole.kind], format, form, whole, bias, terms)
        else:
            k = len(bounds)
            offset = mpf(float(tree.offset[k])) if node.is_output else mpf(0)
            unit = float(tree.unit[k]) if node.is_output else units[node.position].unit
            value = _with_slopes(format, form, whole, bias - offset, terms, mpf(unit))
        if node.is_output:
            bounds.append(max(map(abs, value.error.ends)))
        else:
            values[node.position] = value
    return bounds


def _sum(bias, terms, whole_bias, unit):
    """Return the range of a real sum, and the error of the integer sum in a unit."""
    low = high = bias
    constant = whole_bias * unit - bias
    errors = []
    groups = defaultdict(list)
    for weight, whole, value in terms:
        effective = whole * unit / value.unit if value.unit else weight
        constant -= weight * value.offset
        if value.group >= 0:
            groups[value.group].append((weight, effective - weight, value))
            continue
        ends = sorted((weight * value.low, weight * value.high))
        low, high = low + ends[0], high + ends[1]
        errors.append(value.error.times(effective, effective))
        off = effective - weight
        if value.input >= 0:
            half = off * (value.high - value.low) / 2
            errors.append(Error(mpf(0), mpf(0), {("position", value.input): (half, half)}))
        else:
            ends = sorted((off * (value.low - value.offset), off * (value.high - value.offset)))
            errors.append(Error(*ends, {}))
    for members in groups.values():
        chosen = [(weight, off) for weight, off, _ in members]
        if len(members) != members[0][2].group_size:  # another category is possible, or none
            chosen.append((mpf(0), mpf(0)))
        low, high = low + min(w for w, _ in chosen), high + max(w for w, _ in chosen)
        errors.append(Error(min(o for _, o in chosen), max(o for _, o in chosen), {}))
    return low, high, _total(errors).widened(constant, constant)


def _with_table(table, format, form, whole, bias, terms):
    unit = mpf(table.step) / 2 ** (format.bits - 2)
    low, high, error = _sum(bias, terms, whole.bias, whole.scale * unit / 2**format.bits)
    error = error.widened(-unit / 2, unit / 2)  # of the scaled sum
    ends = error.ends
    first, last = mpmath.ceil((low + ends[0]) / unit), mpmath.floor((high + ends[1]) / unit)
    of_table = _table_errors(table, int(first), int(last), whole.is_output)
    slopes = _slopes(form, low + min(ends[0], 0), high + max(ends[1], 0))
    error = error.times(*slopes).widened(*of_table)
    form_unit = mpf(form.unit)
    values = _values(form, low, high)
    return Value(
        mpf(form.offset), form_unit / format.top, min(values), max(values),
        error.times(form_unit, form_unit),
    )  # fmt: skip


def _with_slopes(format, form, whole, bias, terms, unit):
    """Follow a node that consists of two lines."""
    steps, slope = mpf(2) ** format.bits, abs(mpf(form.slope))
    if whole.is_output:
        low, high, error = _sum(bias, terms, whole.bias, whole.scale * unit / steps)
        return Value(mpf(0), unit, low, high, error.widened(-unit / 2, unit / 2))
    values = [
        _with_two_slopes(form, whole, bias, terms, unit, steps, scale)
        for scale in _steepest_scales(whole, slope, steps)
    ]
    return min(values, key=lambda value: max(map(abs, value.error.ends)))


def _with_two_slopes(form, whole, bias, terms, unit, steps, scale):
    slope = abs(mpf(form.slope))
    of_sum = scale * unit / (max(mpf(1), slope) * steps**2)
    low, high, error = _sum(bias, terms, whole.bias, of_sum)
    ends = low + error.ends[0], high + error.ends[1]
    per_step = unit / (of_sum * steps**2)
    off = [mpf(0)]
    off += [(whole.scale * per_step - 1) * t for t in ends if t > 0]
    sign = -1 if form.slope < 0 else 1
    off += [sign * (whole.scale_below * per_step - slope) * t for t in ends if t < 0]
    rounding = unit / 2 + unit / 2 / steps
    slopes = _slopes(form, low + min(error.ends[0], 0), high + max(error.ends[1], 0))
    values = _values(form, low, high)
    return Value(
        mpf(0), unit, min(values), max(values),
        error.times(*slopes).widened(min(off) - rounding, max(off) + rounding),
    )  # fmt: skip


def _steepest_scales(whole, slope, steps):
    """Return what the scale of the steeper side may have been before the sides were rounded."""
    if slope <= 1:
        return [whole.scale]
    return [
        most
        for most in range(1, int(steps))
        if round(float(most)) == whole.scale_below
        and max(1, round(float(most / slope))) == whole.scale
    ]


def _slopes(form, low, high):
    """Return the smallest and the largest slope between two arguments."""
    if form.kind == "pieces":
        sides = [mpf(form.slope)] * (low < 0) + [mpf(1)] * (high > 0) or [mpf(1)]
        return min(sides), max(sides)
    if form.curve is not None:
        z = np.linspace(float(low), float(high), 2001)
        values = np.broadcast_to(evaluate(derivative(form.curve, "z"), {"z": z}), z.shape)
        return mpf(float(values.min())), mpf(float(values.max()))
    if form.kind == "tanh":
        places, slope = [mpf(0)], lambda t: mpmath.sech(t) ** 2
    else:
        places = [-mpmath.sqrt(mpf(1) / 2), mpmath.sqrt(mpf(1) / 2)]
        slope = lambda t: -4 * t * mpmath.exp(-t * t)  # noqa: E731
    found = [slope(t) for t in (low, high, *(t for t in places if low < t < high))]
    return min(found), max(found)


def _values(form, low, high):
    """Return values of an activation among which are the smallest and the largest."""
    offset, unit = mpf(form.offset), mpf(form.unit)
    if form.kind == "pieces":
        found = [t if t > 0 else mpf(form.slope) * t for t in (low, high)]
        return found + [mpf(0)] * (low < 0 < high)
    if form.curve is not None:
        z = np.linspace(float(low), float(high), 2001)
        values = np.broadcast_to(evaluate(form.curve, {"z": z}), z.shape)
        return [offset + unit * mpf(float(v)) for v in (values.min(), values.max())]
    places = [low, high, *([mpf(0)] if low < 0 < high else [])]
    function = mpmath.tanh if form.kind == "tanh" else lambda t: 2 * mpmath.exp(-t * t) - 1
    return [offset + unit * function(t) for t in places]


def _table_errors(table, first, last, fine):
    """Return the smallest and the largest error of a table for whole arguments."""
    errors, start = _all_table_errors(table, fine)
    end = start + len(errors) - 1
    inside = errors[max(0, first - start) : max(0, last - start + 1)]
    found = [float(inside.min()), float(inside.max())] if len(inside) else []
    unit = table.step / 2 ** (table.bits - 2)
    top = 2 ** (table.bits - 1) - 1
    for outer, inner, entry in ((first, start, 0), (last, end, -1)):
        if (outer < start) if entry == 0 else (outer > end):
            # constant behind its ends
            value = float(table.values[entry if table.symmetry == "none" else -1]) / top
            if entry == 0 and table.symmetry == "odd":
                value = -value
            nearest = max(inner, first) if entry else min(inner, last)
            t = np.linspace(nearest, outer, 1001) * unit
            exact = np.broadcast_to(evaluate(table.function, {"z": t}), t.shape)
            found += [float((value - exact).min()), float((value - exact).max())]
    return mpf(min(found)), mpf(max(found))


@cache
def _all_table_errors(table, fine):
    """Return the errors of all arguments inside of a table, and the first argument."""
    top, per_entry = 2 ** (table.bits - 1) - 1, 2 ** (table.bits - 2)
    entries = table.values.astype(np.float64)
    if table.symmetry == "none":
        n = len(entries) // 2
    else:
        n = len(entries) - 1
        below = entries[:0:-1]
        entries = np.concatenate([-below if table.symmetry == "odd" else below, entries])
    t = np.arange(-n * per_entry, n * per_entry + 1)
    values = np.interp(t, np.arange(-n, n + 1) * per_entry, entries)
    if not fine:
        # The part of the way from the entry nearer to 0 is rounded, half away from that entry.
        near = np.interp(
            np.trunc(t / per_entry) * per_entry, np.arange(-n, n + 1) * per_entry, entries
        )
        part = values - near
        values = near + np.sign(part) * np.floor(np.abs(part) + 0.5)
    unit = table.step / per_entry
    exact = np.broadcast_to(evaluate(table.function, {"z": t * unit}), t.shape)
    return values / top - exact, int(t[0])


# -- links --------------------------------------------------------------------------------


def bound(integers, per_tree):
    """Return the bound on each prediction, from those on the outputs of the trees."""
    combine, k = integers.link.combine, integers.model.n_outputs
    bounds = []
    for tree, row in zip(integers.trees, per_tree, strict=True):
        most = max(row)
        if combine == "softmax":
            # The worst case of two classes: their scores move in opposite directions.
            change = 1 / (1 + mpmath.exp(-most)) - 1 / (1 + mpmath.exp(most))
            row = [change + _softmax_steps(integers)] * k
        elif combine == "shares":
            row = [_share_steps(integers, tree, most)] * k
        elif combine == "clip":
            row = [min(mpf(1), error + 4 / ONE) for error in row]
        if integers.model.task != "numbers":
            row = [min(mpf(1), error + 1 / ONE) for error in row]  # of the mean over trees
        bounds.append(row)
    means = [sum(column) / len(bounds) for column in zip(*bounds, strict=True)]
    return [max(means)] * len(means) if integers.link.order else means


def _softmax_steps(integers):
    """Add up what the steps of the integer softmax may cost."""
    shift, factor, _, _ = integers.exp
    exponent = [
        mpf(2) ** shift * mpf(float(integers.trees[0].unit[0])),  # the difference is rounded down
        mpmath.log(2) * mpf(2) ** -16,  # the exponent is rounded down
        mpmath.log(2) * 16 * mpf("0.5") / max(factor, 1),  # the factor is rounded; 16 octaves
    ]
    width = mpmath.log(2) / 2**integers.format.exp_bits
    power = [
        width**2 / 8,  # a chord instead of a curve
        1 / ONE,  # two entries are rounded, by a half each
        1 / ONE,  # their difference is rounded down
        1 / ONE,  # the power is rounded down
    ]
    relative = sum(exponent) + sum(power)
    # A share p of a sum changes by p * (1 - p) times the relative change, which is a quarter, of
    # its part and in the other direction of the rest; small powers lose a whole unit.
    return relative / 4 * 2 + (integers.model.n_outputs + 2) / ONE


def _share_steps(integers, tree, error):
    shift = integers.share.shift
    step = mpf(2) ** shift * abs(mpf(float(tree.unit[0])))
    error = error + step + step  # rounded down, and at least 1
    k = integers.model.n_outputs
    least = sum(max(mpf(float(low)), mpf(0)) for low in tree.low) - k * error
    if least <= 0:
        return mpf(1)
    return min(mpf(1), (error + k * error) / least + 2 / ONE)


# -- comparison ---------------------------------------------------------------------------


def complaints(integers, factor=1.0):
    """Return what is wrong with the bounds of a model times a factor, as texts.

    A bound must not be below the one computed here, nor far above it.
    """
    per_tree = tree_bounds(integers)
    pairs = [("bound", integers.bound, bound(integers, per_tree))]
    pairs += [(f"tree {i}", t.bound, per_tree[i]) for i, t in enumerate(integers.trees)]
    texts = []
    for name, stated, computed in pairs:
        for k, (a, b) in enumerate(zip(factor * stated, map(float, computed), strict=True)):
            if not b * (1 - 1e-6) <= a <= MOST[integers.format.bits] * b + 1e-280:
                texts.append(f"{name}, output {k}: {a:.6g} is stated, {b:.6g} computed")
    return texts


# -- large errors --------------------------------------------------------------------------


def largest_error(integers, rng, n_rows=48, n_steps=30):
    """Search for rows with large errors, by corners and by hill climbing; return these errors."""
    units = integers.inputs
    rows = _random_rows(units, rng, n_rows)
    rows[: n_rows // 2] = _corners(units, rng, n_rows // 2)
    errors = integers.errors(rows)
    best = errors.max(axis=0)
    for _ in range(n_steps):
        changed = rows.copy()
        others = _random_rows(units, rng, n_rows)
        which = rng.integers(0, rows.shape[1], n_rows)
        for row, i in enumerate(which):
            same = (
                units.group == units.group[i]
                if units.group[i] >= 0
                else np.arange(rows.shape[1]) == i
            )
            changed[row, same] = others[row, same]
        new = integers.errors(changed)
        best = np.maximum(best, new.max(axis=0))
        better = new.max(axis=1) > errors.max(axis=1)
        rows[better], errors[better] = changed[better], new[better]
    return best


def _corners(units, rng, n):
    rows = _random_rows(units, rng, n)
    ends = np.where(rng.random(rows.shape) < 0.5, units.low, units.high)
    return np.where(units.group < 0, ends, rows)


def _random_rows(units, rng, n):
    """Draw rows in the training range; half of the numbers are at borders of rounding."""
    k = len(units.middle)
    rows = rng.uniform(units.low, units.high, (n, k))
    steps = np.where(
        units.unit > 0, np.round((rows - units.middle) / np.where(units.unit > 0, units.unit, 1)), 0
    )
    borders = units.middle + units.unit * (steps + 0.5 - 1e-9)
    rows = np.where(rng.random((n, k)) < 0.5, borders, rows).clip(units.low, units.high)
    for group in set(units.group[units.group >= 0].tolist()):
        members = np.flatnonzero(units.group == group)
        rows[:, members] = 0.0
        n_choices = len(members) + (units.group_size[members[0]] == 0)
        chosen = rng.integers(0, n_choices, n)
        for position, i in enumerate(members):
            rows[chosen == position, i] = 1.0
    return rows
