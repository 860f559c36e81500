"""The card of a model: a page for people who decide whether it may be used.

It is computed from a fitted model and some rows, and printed or sent as one file.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sklearn

from bneuralt import __version__
from bneuralt._typing import Array
from bneuralt.drawing.charts import ROLES, Series, chart, name_chart, padded
from bneuralt.drawing.display import tree_scene
from bneuralt.drawing.labels import counted
from bneuralt.drawing.printed_pages import (
    Block,
    CodeLines,
    Figures,
    Notice,
    PageSection,
    Table,
    printed_page,
)
from bneuralt.drawing.scene import Scene
from bneuralt.drawing.view import TreeView, cells
from bneuralt.estimators.base import NeuralTreeEstimator
from bneuralt.estimators.card_groups import cell_text, groups_of
from bneuralt.estimators.card_scores import Reliability, ScoredRows, scores_with_intervals, wilson
from bneuralt.explaining import Effect, check_interactions, check_monotonic, effect, explain
from bneuralt.export.integer import input_ranges, integer_model
from bneuralt.fitting.fingerprints import n_seen
from bneuralt.fitting.problem import rows_to_compare
from bneuralt.model import Model
from bneuralt.tables.columns import Frame

__all__ = ["card_html"]

#: Largest numbers of effects, outputs of an effect, pairs, and groups that are shown; and of
#: categories with the smallest effects, and with the largest.
MAX_EFFECTS, MAX_OUTPUTS, MAX_PAIRS, MAX_GROUPS, MAX_VALUES = 8, 6, 5, 12, 15
#: Rows that effects and interactions are averaged over, and the largest number of columns for
#: which interactions are computed.
EFFECT_ROWS, PAIR_ROWS, PAIR_COLUMNS = 500, 100, 60


def card_html(
    estimator: NeuralTreeEstimator, X: Any, y: Any, group: Any = None, title: str | None = None
) -> str:
    """Return the card of a fitted estimator; see `CardMethods.card`."""
    card = _Card(estimator, X, y, group)
    return printed_page(title or f"Card of a {card.model.kind}", card.summary, card.sections())


class _Card:
    """The parts of a card."""

    def __init__(self, estimator: NeuralTreeEstimator, X: Any, y: Any, group: Any) -> None:
        self.estimator = estimator
        self.model: Model = estimator.model_.in_raw_units()
        table = estimator._checked_table(X)
        if len(table) == 0:
            raise ValueError("X has no rows: a card needs rows with their target")
        target = np.asarray(y)
        if len(target) != len(table):
            raise ValueError(f"X has {len(table)} rows and y has {len(target)}: both need the same")
        self.X, self.table = X, table
        self.group = None if group is None else groups_of(self.model, table, group)
        self.rows = self._scored(target)
        self.target = target

    def _scored(self, y: Array) -> ScoredRows:
        model = self.model
        outputs = model.outputs(model.encoder.encode(self.table))
        values = model.predictions(outputs)
        if model.task == "classes":
            y = _positions(y, model.classes or ())
        else:
            y = np.asarray(y, dtype=np.float64)
            if not np.isfinite(y).all():
                raise ValueError("y has missing or infinite values: leave out these rows")
        return ScoredRows(model.task, y, values, model.quantiles)

    @property
    def summary(self) -> str:
        model = self.model
        what = ", ".join(model.target_names) or "the target"
        names = ", ".join(map(str, model.output_names[:20]))
        kinds = {"classes": f"one of {model.n_outputs} classes", "labels": "several labels"}
        predicts = kinds.get(model.task, "numbers" if model.n_outputs > 1 else "a number")
        shown = f" ({names})" if model.task != "numbers" or model.n_outputs > 1 else ""
        return f"It predicts {what}: {predicts}{shown}. bneuralt {__version__}."

    def sections(self) -> list[PageSection]:
        """Return all sections, without those that are empty."""
        parts = [
            PageSection("Rows of this card", self._seen()),
            PageSection("Scores", self._scores()),
            PageSection("Calibration", self._calibration()),
            PageSection("Errors by group", self._by_group()),
            PageSection("Data", self._data()),
            PageSection("Effects", self._effects()),
            PageSection("Interactions", self._interactions()),
            PageSection("Proofs", self._proofs()),
            PageSection("The model", self._model()),
            PageSection("How to reproduce it", self._reproduction()),
            PageSection("Signature", ["Name, date: ____________________________________________"]),
        ]
        return [section for section in parts if section.blocks]

    # -- rows ----------------------------------------------------------------------------

    def _seen(self) -> list[Block]:
        known, n = self.model.fingerprints, len(self.rows)
        if known is None:
            return [
                Notice(
                    f"It is not known whether the {counted(n, 'row')} of this card were used in "
                    "training: the model holds no hashes of its training rows."
                )
            ]
        rows = rows_to_compare(self.model, self.estimator._options(), self.X, self.target)
        n_checked, seen = n_seen(known, rows)
        text = f"{counted(n, 'row')}; the model was trained on {counted(known.n_rows, 'row')}. "
        if seen == 0:
            if n_checked == 0:
                return [Notice(text + "None of the rows could be checked for use in training.")]
            of = "None of them" if n_checked == n else f"None of the {n_checked:,} checked rows"
            return [Notice(text + f"{of} is equal to a training row.", "good")]
        text += (
            f"{seen:,} of {n_checked:,} checked rows {'is' if seen == 1 else 'are'} equal to "
            f"{'a training row' if seen == 1 else 'training rows'}: the scores "
            "below are not those of unseen rows only."
        )
        if known.n_different <= 0.9 * known.n_rows:
            text += (
                f" The training table has {known.n_different:,} different rows: equal rows "
                "need not be the same cases."
            )
        return [Notice(text)]

    def _values(self, j: int) -> list[Any]:
        """Return the values of a column as the model reads them, None for missing ones."""
        feature = self.model.columns[j].feature
        if isinstance(self.table, Frame) and feature.kind == "number":  # may be texts
            numbers = feature.read(self.table.columns[j]).values
            return [None if np.isnan(number) else float(number) for number in numbers]
        return list(cells(self.table, j))

    def _data(self) -> list[Block]:
        lines = []
        for j, column in enumerate(self.model.columns):
            values: list[Any] = self._values(j)
            present: list[Any] = [value for value in values if value is not None]
            limits = column.range
            known = f"{counted(len(column.categories), 'value')}" if column.categories else "–"
            if limits is not None:
                known = " to ".join(cell_text(end) for end in limits)
            here, outside = "–", "–"
            if column.feature.kind == "category":
                here = counted(len(set(present)), "value")
                if column.categories:
                    seen = set(column.categories)
                    new = sum(value not in seen for value in map(str, present))
                    outside = f"{new / len(values):.1%}"
            elif present:
                here = f"{cell_text(min(present))} to {cell_text(max(present))}"
                if limits is not None and column.feature.kind == "number":
                    low, high = map(float, limits)
                    beyond = sum(not low <= value <= high for value in present)
                    outside = f"{beyond / len(values):.1%}"
            missing = f"{1 - len(present) / len(values):.1%}"
            lines.append((column.name, column.feature.kind, known, here, outside, missing))
        header = ("column", "kind", "in training", "in these rows", "outside", "missing")
        table = Table(
            header, lines, "Columns, their ranges, and rows outside of the training range"
        )
        means = [self.model.columns[j] for j in self.model.encoder.with_means]
        notices = [
            Notice(
                f"The model has the mean of the target in the training rows of each of "
                f"{len(column.categories):,} values of {column.name}: its file shows them."
            )
            for column in means
        ]
        return [table, *notices]

    # -- quality -------------------------------------------------------------------------

    def _scores(self) -> list[Block]:
        lines = [
            (name, f"{value:.3f}" if abs(value) < 100 else f"{value:.5g}", _interval(*interval))
            for name, value, interval in scores_with_intervals(self.rows)
        ]
        caption = f"Scores on the {counted(len(self.rows), 'row')}, with 95 % intervals"
        blocks: list[Block] = [Table(("score", "value", "interval"), lines, caption)]
        rows = self.rows
        if rows.task == "classes":
            share = np.bincount(rows.y).max() / len(rows)
            blocks.append(
                f"Always predicting the most frequent class would be right in {share:.1%}."
            )
            blocks.append("The interval of the accuracy is Wilson's; the others are bootstrapped.")
        return blocks

    def _calibration(self) -> list[Block]:
        rows = self.rows
        if rows.task == "numbers":
            return self._residuals()
        if rows.task == "labels":
            shares, came_true = rows.values.ravel(), rows.targets.ravel() > 0.5
            what = "probability of a label"
        elif rows.values.shape[1] == 2:
            shares, came_true = rows.values[:, 1], rows.y == 1
            what = f"probability of {self.model.output_names[1]}"
        else:
            shares, came_true = rows.values.max(axis=1), rows.is_right > 0.5
            what = "probability of the predicted class"
        curve = Reliability.of(shares, came_true)
        points = Series(
            curve.predicted, curve.observed, "these rows", has_dots=True,
            low=curve.low, high=curve.high,
        )  # fmt: skip
        ends = np.array([0.0, 1.0])
        diagonal = Series(ends, ends, "perfect", "faint", is_dashed=True)
        unit = (0.0, 1.0)
        scene = chart(
            [diagonal, points], f"predicted {what}", "observed share", x_range=unit, y_range=unit
        )
        caption = (
            f"Reliability: rows in {counted(len(curve.n_rows), 'bin')} of equal size. Mean "
            f"difference of probability and share: {curve.error:.3f}."
        )
        return [Figures([(scene, caption)])]

    def _residuals(self) -> list[Block]:
        rows = self.rows
        blocks: list[Block] = []
        figures: list[tuple[Scene, str]] = []
        names = self.model.output_names if rows.quantiles is None else self.model.target_names
        for k in range(rows.residuals.shape[1]):
            predicted, residual = rows.middle[:, k], rows.residuals[:, k]
            parts = np.array_split(np.argsort(predicted, kind="stable"), min(10, len(rows)))
            means = np.array([predicted[part].mean() for part in parts])
            ends = np.array([np.quantile(residual[part], [0.05, 0.5, 0.95]) for part in parts])
            series = [
                Series(means, ends[:, 1], "median", has_dots=True),
                Series(means, ends[:, 0], "5 % and 95 %", "mixed", is_dashed=True),
                Series(means, ends[:, 2], "", "mixed", is_dashed=True),
                Series(means[[0, -1]], np.zeros(2), "", "faint"),
            ]
            name = f" of {names[k]}" if len(names) > k else ""
            scene = chart(series, f"prediction{name}", "target − prediction")
            figures.append((scene, "Errors by tenths of the predictions."))
        blocks.append(Figures(figures))
        coverage = self._coverage()
        if coverage:
            header = ("statement", "share of these rows", "interval")
            blocks.append(Table(header, coverage, "How often stated ranges hold"))
        return blocks

    def _coverage(self) -> list[tuple[str, str, str]]:
        rows, lines = self.rows, []

        def line(text: str, holds: Array) -> tuple[str, str, str]:
            low, high = wilson(float(holds.sum()), len(holds))
            return text, f"{holds.mean():.1%}", f"{low:.1%} to {high:.1%}"

        for k, quantile in enumerate(rows.quantiles or ()):
            lines.append(line(f"below the quantile {quantile:g}", rows.y <= rows.values[:, k]))
        if getattr(self.estimator, "calibration_", None) is not None and rows.y.ndim == 1:
            for coverage in (0.8, 0.9):
                ends = self.estimator.predict_interval(self.X, coverage)
                within = (ends[:, 0] <= rows.y) & (rows.y <= ends[:, 1])
                lines.append(line(f"in the interval of {coverage:.0%}", within))
        return lines

    def _by_group(self) -> list[Block]:
        if self.group is None:
            return []
        name, labels = self.group
        names, counts = np.unique(labels, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:MAX_GROUPS]
        lines = []
        for label in names[np.sort(order)].tolist():
            part = self.rows.take(np.flatnonzero(labels == label))
            (_, score, interval), *_ = scores_with_intervals(part) or [
                ("", np.nan, (np.nan, np.nan))
            ]
            row = [label, f"{len(part):,}"]
            if part.task == "numbers":
                error = np.abs(part.residuals).mean()
                row += [f"{error:.4g}", f"{part.residuals.mean():+.4g}"]
            elif part.task == "classes" and part.values.shape[1] == 2:
                second = part.values[:, 1].mean()
                row += [f"{score:.3f}", _interval(*interval), f"{second:.3f}"]
                row.append(f"{np.mean(part.y == 1):.3f}")
            else:
                row += [f"{score:.3f}", _interval(*interval)]
            lines.append(row)
        header = ["group", "rows", "accuracy", "interval"]
        if self.rows.task == "numbers":
            header = ["group", "rows", "mean absolute error", "mean error"]
        elif self.rows.task == "classes" and self.rows.values.shape[1] == 2:
            label = self.model.output_names[1]
            header += [f"mean probability of {label}", f"share of {label}"]
        caption = f"Groups of {name}"
        if len(names) > MAX_GROUPS:
            caption += f": the {MAX_GROUPS} largest of {len(names):,}"
        return [Table(header, lines, caption)]

    # -- what it does --------------------------------------------------------------------

    def _strongest(self) -> list[int]:
        """Return the columns by the size of their contributions, without those that have none."""
        sample = self._sample(PAIR_ROWS)
        importances = explain(self.model, sample).importances
        order = np.argsort(-importances, kind="stable")
        return [int(j) for j in order if importances[j] > 0]

    def _sample(self, most: int) -> Array | Frame:
        if len(self.table) <= most:
            return self.table
        index = np.random.default_rng(0).permutation(len(self.table))[:most]
        return self.table.take(index) if isinstance(self.table, Frame) else self.table[index]

    def _effects(self) -> list[Block]:
        sample, columns = self._sample(EFFECT_ROWS), self._strongest()
        curves = [effect(self.model, j, sample) for j in columns[:MAX_EFFECTS]]
        limits = padded([curve.y[:, :MAX_OUTPUTS] for curve in curves]) if curves else None
        figures = [(_effect_scene(curve, limits), "") for curve in curves]
        text = "Mean prediction if only this column changes, over the rows of this card."
        if len(columns) > MAX_EFFECTS:
            text += f" The {MAX_EFFECTS} strongest of {len(columns)} columns."
        n_outputs = self.model.n_outputs
        if n_outputs > MAX_OUTPUTS:
            text += f" The first {MAX_OUTPUTS} of {n_outputs} outputs."
        return [text, Figures(figures)] if figures else ["No column has an effect."]

    def _interactions(self) -> list[Block]:
        proof = check_interactions(self.model)
        n = len(self.model.columns)
        n_pairs = len(proof.meetings)
        if proof.is_additive:
            return ["No columns interact: the structure of the trees proves it."]
        n_all = n * (n - 1) // 2
        text = f"{n_pairs:,} of {n_all:,} pairs of columns can interact"
        if n_pairs < n_all:
            text += "; the structure of the trees excludes the others"
        blocks: list[Block] = [f"{text}."]
        if n > PAIR_COLUMNS:
            return blocks
        found = explain(self.model, self._sample(PAIR_ROWS), interactions=True)
        strength = found.pair_importances()
        position = {name: j for j, name in enumerate(found.feature_names)}
        lines = [
            (f"{a} and {b}", f"{strength[position[a], position[b]]:.3g}")
            for a, b in found.strongest_pairs(MAX_PAIRS)
        ]
        if lines:
            what = f"mean absolute interaction ({found.explains})"
            blocks.append(Table(("pair", what), lines, "The strongest interactions"))
        return blocks

    def _proofs(self) -> list[Block]:
        lines = [("interactions", _first_line(str(check_interactions(self.model))))]
        try:
            proof = check_monotonic(self.model)
        except ValueError as error:
            lines.append(("monotone effects", f"none: {error}"))
        else:
            proven = {1: "increasing", -1: "decreasing"}
            for entry in proof.features:
                if entry.direction in proven:
                    lines.append((f"effect of {entry.name}", proven[entry.direction]))
            if proof.constrained:
                state = "hold" if proof.holds else "DO NOT HOLD"
                lines.append(("monotonic_cst", f"all constraints {state}"))
        for dtype in ("int16", "int8"):
            lines.append((f"{dtype} arithmetic", _integer_bound(self.model, dtype)))
        return [Table(("statement", "proven"), lines, "From the structure", are_numbers=False)]

    def _model(self) -> list[Block]:
        model = self.model
        used = len({int(j) for j in model.column_of_input[model.used_inputs]})
        text = (
            f"{counted(len(model.trees), 'tree')}, {counted(model.n_parameters, 'weight')}, "
            f"{used} of {counted(len(model.columns), 'column')} used."
        )
        scene = tree_scene(TreeView.of(model), max_leaves=40)
        caption = "The tree." if len(model.trees) == 1 else "The first tree."
        return [text, Figures([(scene, caption)])]

    def _reproduction(self) -> list[Block]:
        estimator = self.estimator
        default = type(estimator)().get_params(deep=False)
        changed = {
            name: value
            for name, value in estimator.get_params(deep=False).items()
            if repr(value) != repr(default[name])
        }
        settings = ", ".join(f"{name}={value!r}" for name, value in changed.items())
        code = f"{type(estimator).__name__}({settings}).fit(X, y)"
        extra = getattr(estimator, "extra_", {})
        blocks: list[Block] = [
            f"bneuralt {__version__}, NumPy {np.__version__}, scikit-learn {sklearn.__version__}, "
            f"Python {platform.python_version()} (when this card was made).",
            CodeLines(code),
        ]
        if edits := getattr(estimator, "edits_", None):
            rows = [(edit["time"][:16].replace("T", " "), edit["text"]) for edit in edits]
            text = "The model was edited by hand after training: fit does not reproduce it."
            blocks += [Notice(text), Table(("time", "edit"), rows, "Edits", are_numbers=False)]
        if isinstance(digest := extra.get("data_sha256"), str):
            blocks.append(f"SHA-256 of the training table: {digest}.")
        known = self.model.fingerprints
        if known is not None:
            blocks.append(
                f"Training rows: {known.n_rows:,}, of which {known.n_different:,} different."
            )
        return blocks


def _positions(y: Array, classes: Sequence[Any]) -> Array:
    """Return the position of each label; raise an error for labels that the model does not have."""
    place = {label: i for i, label in enumerate(classes)}
    texts = {str(label): i for i, label in enumerate(classes)}
    found = [place.get(label, texts.get(str(label), -1)) for label in y.tolist()]
    unseen = [label for label, i in zip(y.tolist(), found, strict=True) if i < 0]
    if unseen:
        raise ValueError(
            f"y has the class {unseen[0]!r} in {counted(unseen.count(unseen[0]), 'row')}, which "
            f"the model does not know (it has {', '.join(map(repr, classes[:10]))}): leave out "
            "these rows"
        )
    return np.array(found, dtype=np.int64)


def _effect_scene(curve: Effect, y_range: tuple[float, float] | None) -> Scene:
    curve = curve.shortened(MAX_VALUES)
    outputs = range(min(curve.y.shape[1], MAX_OUTPUTS))
    named = curve.output_names if len(curve.output_names) > 1 else []
    what = curve.explains
    if len(curve.output_names) == 1:
        what = f"{what} of {curve.output_names[0]}"

    def series(x: Array, k: int, **options: Any) -> Series:
        name = named[k] if named else ""
        return Series(x, curve.y[:, k], name, ROLES[k % len(ROLES)], **options)

    if curve.kind == "number" and len(curve.x) > 1:
        rows = None if curve.rows is None else np.asarray(curve.rows, dtype=np.float64)
        lines = [series(curve.x.astype(np.float64), k) for k in outputs]
        return chart(lines, curve.name, what, rows=rows, y_range=y_range)
    step = max(1, len(curve.x) // 30) if curve.kind == "date" else 1
    shown = replace(curve, x=curve.x[::step], y=curve.y[::step])
    x = np.arange(len(shown.x))
    is_line = curve.kind == "date"
    points = [
        Series(x, shown.y[:, k], named[k] if named else "", ROLES[k % len(ROLES)], is_line)
        for k in outputs
    ]
    names = [cell_text(value) for value in shown.x.tolist()]
    return name_chart(names, points, curve.name, what, y_range=y_range)


def _integer_bound(model: Model, dtype: str) -> str:
    try:
        bound = float(integer_model(model, dtype, input_ranges(model)).bound.max())
    except (TypeError, ValueError) as error:
        return f"no bound: {error}"
    what = "numbers" if model.task == "numbers" else "probabilities"
    return f"{what} differ by at most {bound:.3g} within the training range"


def _interval(low: float, high: float) -> str:
    return f"{low:.3f} to {high:.3f}" if abs(high) < 100 else f"{low:.5g} to {high:.5g}"


def _first_line(text: str) -> str:
    return text.partition("\n")[0]
