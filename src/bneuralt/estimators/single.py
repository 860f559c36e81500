"""Scikit-learn estimators: one tree, trained by backpropagation.

`fit` reads rows (`base`), scales them (`scaling`), draws a tree (`drawn_trees`), trains it
(`fitting`), and folds the scaling into its weights.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from bneuralt._typing import Array, IntArray
from bneuralt.estimators.callbacks import Report, Step, describe_epoch
from bneuralt.estimators.capacity import (
    SINGLE_TREE,
    Capacity,
    batch_size,
    learning_rate,
    n_epochs,
)
from bneuralt.estimators.classification import ClassifierTask
from bneuralt.estimators.drawn_trees import DrawnTree
from bneuralt.estimators.fitting import FitBatch, TreeFit
from bneuralt.estimators.histories import GrowingArray
from bneuralt.estimators.nested import setting_of
from bneuralt.estimators.parameters import (
    LEAF_MOVES,
    PAPER_SETTINGS,
    PATIENCE,
    ClassifierParameters,
    RegressorParameters,
    declared,
)
from bneuralt.estimators.parts import ClassifierInParts, RegressorInParts, TrainedInParts
from bneuralt.estimators.readable import make_readable
from bneuralt.estimators.regression import RegressorTask
from bneuralt.estimators.retraining import smaller_models
from bneuralt.estimators.rows import Rows
from bneuralt.estimators.scaling import fold
from bneuralt.estimators.splits import FEWEST_ROWS_TO_SPLIT, hold_out
from bneuralt.estimators.trials import Choice, choose
from bneuralt.model import Learning
from bneuralt.shrinking import WEIGHTS, SizeUnit, without_idle_branches
from bneuralt.training import EpochState, OptimizerState, TrainingSettings
from bneuralt.tree import NeuralTree
from bneuralt.tree.monotonic import Signs, constrained, node_signs, weight_signs
from bneuralt.values import is_auto

__all__ = ["PAPER_SETTINGS", "BNeuralTClassifier", "BNeuralTRegressor"]


class SingleTree(TrainedInParts, DrawnTree):
    """Base class of estimators of one tree."""

    tree_: NeuralTree
    n_iter_: int
    best_epoch_: int | None
    history_: dict[str, Array]
    moved_leaves_: dict[str, IntArray] | None
    _trained_tree: NeuralTree  # as it came out of training: for scaled features
    _optimizer_state: OptimizerState | None
    _node_signs: Array | None = None  # of the trained tree, where effects are constrained
    _rate_and_decay: dict[str, float]  # automatic values
    _reads_blocks: ClassVar[bool] = True
    _fewest_epochs: ClassVar[int]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "tree_")

    @property
    def n_parameters_(self) -> int:
        """Number of trainable weights of the tree."""
        return self.tree_.n_parameters

    @property
    def _trees(self) -> list[NeuralTree]:
        return [self.tree_]

    def _step(self, rows: Rows) -> Step:
        n_trees = 1 if self._is_warm_start() else self._growth.n_init
        refits = self.early_stopping == "refit" and rows.n_separate >= FEWEST_ROWS_TO_SPLIT
        n_epochs = self._n_epochs(rows) * (n_trees + refits)
        describe = partial(
            describe_epoch, score_name=self._score_name, n_trees=n_trees, refits=refits
        )
        return Step("epoch", n_epochs, describe)

    def _fit_rows(self, rows: Rows, validation: Rows | None, report: Report | None) -> None:
        if self.max_weights is not None:
            WEIGHTS.check(self.max_weights, self._n_outputs())
        if not self._is_warm_start():
            self._choice = choose(self, rows, self._draw_seed())
        fit = self._plan(rows, validation)
        self._train(fit, report)
        if refit := self._plan_refit(fit):
            search = self.history_, self.moved_leaves_, self.best_epoch_
            self._train(refit, report)
            self.history_, self.moved_leaves_, self.best_epoch_ = search
        if self._is_readable:
            make_readable(self, rows.in_memory)
            return
        if self._has_automatic_size and not self.warm_start:
            self._remove_idle(rows)
        self._remove_weights(rows)

    def _validate_params(self) -> None:
        super()._validate_params()
        if self._is_readable and self.warm_start:
            raise ValueError(
                "n_weights='readable' cannot be combined with warm_start=True: training would "
                "change the rounded weights; use another n_weights"
            )

    def _new_tree(self, seed: int, **parameters: Any) -> SingleTree:
        """Return an unfitted tree of the same features, with other parameters."""
        usual = {**self.get_params(deep=False), "random_state": seed, "warm_start": False}
        tree = type(self)(**(usual | parameters))
        self._pass_on(tree)
        tree._choice = self._choice
        return tree

    def _trial_tree(self, seed: int, rows: Rows, share: float, ramp_share: float) -> SingleTree:
        """Return an unfitted tree with a share of its weights."""
        tree = self._new_tree(seed, **({"n_weights": "auto"} if self._is_readable else {}))
        tree._choice = Choice(ramp_share=ramp_share)
        return tree._with_share_of_weights(rows, share)

    def _remove_idle(self, rows: Rows) -> None:
        """Remove leaves and branches that contribute nothing; `rows` are the training rows."""
        moments, scaling = rows.input_moments, self._input_scaling
        ends = np.stack([moments.low, moments.high])
        if scaling is not None:
            ends = scaling.apply(ends)
        tree = without_idle_branches(self._trained_tree, *ends)
        if tree is not self._trained_tree:
            self.__dict__.update(self._with_trees([self._fold(tree)], [tree]).__dict__)

    def _remove_weights(self, rows: Rows) -> None:
        """Remove weights until the tree has at most `max_weights`."""
        if self.max_weights is not None and self.max_weights < self.tree_.n_parameters:
            (smaller,) = self._smaller_models(rows.in_memory, [self.max_weights], WEIGHTS)
            self.__dict__.update(smaller.__dict__)

    def _smaller_models(self, rows: Rows, sizes: Sequence[int], unit: SizeUnit) -> list[Self]:
        return smaller_models(self, rows, sizes, unit=unit)

    def _with_trees(
        self, trees: Sequence[NeuralTree], trained: Sequence[NeuralTree] | None = None
    ) -> Self:
        other = copy(self)
        (other.tree_,) = trees
        if trained is not None:
            (other._trained_tree,) = trained
            other._optimizer_state = None  # it belongs to the replaced weights
            other._node_signs = None  # computed from the tree when it is trained further
        return other

    def _trained_trees(self) -> Sequence[NeuralTree] | None:
        trained = getattr(self, "_trained_tree", None)
        # a scaled target may have added roots above the outputs: then node positions differ
        if trained is None or trained.parent.size != self.tree_.parent.size:
            return None
        return [trained]

    def _plan(self, rows: Rows, validation: Rows | None) -> TreeFit:
        """Choose settings and validation rows, learn the scaling, and draw the trees."""
        structure, split, order = np.random.default_rng(self._draw_seed()).spawn(3)
        settings = self._settings(rows)
        training = rows
        if validation is None and settings.select is not None:
            training, validation = hold_out(rows, self.validation_fraction, split)
        if validation is None and (settings.select or settings.patience):
            settings = settings.set_params(select=None, patience=None)
        factor = self._choice.output_factor
        if self._is_warm_start():
            starts = [self._last_tree().with_output_scaling(0.0, 1.0 / factor)]
        else:
            self._learn_scaling(training)
            starts = [self._draw_tree(training, structure) for _ in range(self._growth.n_init)]
        fit = self._new_fit(
            starts,
            training.one_epoch().with_mean_weight_one(),
            validation,
            settings,
            int(order.integers(2**63)),
            whole=rows,
        )
        fit.output_factor = factor
        return fit

    def _plan_refit(self, fit: TreeFit) -> TreeFit | None:
        """Return the training on all rows that follows early stopping; None if there is none."""
        if self.early_stopping != "refit" or not fit.validation_is_in_table:
            return None
        result, rows = fit.result, fit.whole
        if result.status == "callback" or result.best_epoch is None:
            return None
        assert rows is not None
        if not self._is_warm_start():
            self._learn_scaling(rows)
        settings = fit.settings.set_params(
            max_epochs=result.best_epoch + 1, select=None, patience=None
        )
        once = rows.one_epoch().with_mean_weight_one()
        return self._new_fit([fit.starts[fit.best]], once, None, settings, fit.seed)

    def _new_fit(
        self,
        starts: list[NeuralTree],
        rows: Rows,
        validation: Rows | None,
        settings: TrainingSettings,
        seed: int,
        optimizer_state: OptimizerState | None = None,
        whole: Rows | None = None,
    ) -> TreeFit:
        starts, signs = self._constrained(starts)
        return TreeFit(
            starts,
            rows,
            validation,
            settings,
            seed,
            self._input_scaling,
            self._target_scaling,
            optimizer_state,
            self._may_move_to(rows, starts),
            signs,
            whole,
        )

    def _constrained(self, starts: list[NeuralTree]) -> tuple[list[NeuralTree], list[Signs] | None]:
        """Return starts that meet `monotonic_cst`, and the signs that their weights must keep.

        A tree that is trained further keeps its signs.
        """
        inputs = self._input_signs()
        if inputs is None:
            return starts, None
        outputs = self._output_signs()
        if self.__sklearn_is_fitted__() and starts[0] is getattr(self, "_trained_tree", None):
            nodes = self._node_signs
            if nodes is None:
                nodes = node_signs(starts[0], outputs)
            return starts, [Signs(nodes, inputs)]
        return constrained(starts, inputs, outputs)

    def _train(self, fit: TreeFit, report: Report | None) -> None:
        """Train one tree and store it, also after Ctrl-C."""
        stopped, unit = False, 1.0
        if report is not None:
            rows = fit.rows if fit.validation is None else fit.validation
            unit = fit.error_unit(rows, self._error_unit)

        def report_epoch(state: EpochState) -> bool:
            nonlocal stopped
            assert report is not None
            error = state.train_error if fit.validation is None else state.val_error
            stopped = stopped or report(
                state, 1.0 - error / unit, lambda: self._attributes_at(state)
            )
            return stopped

        try:
            FitBatch([fit], len(fit.starts)).train(
                fit.rows,
                None if fit.validation_is_in_table else fit.validation,
                self._n_threads(),
                report_epoch if report else None,
                (lambda _: stopped) if report else None,
            )
        finally:
            if any(result is not None for result in fit.results):
                self._keep(fit)

    def _keep(self, fit: TreeFit) -> None:
        """Set the fitted attributes from the best result."""
        best = fit.best
        result = fit.results[best]
        self._trained_tree = fit.tree
        self._node_signs = None if fit.signs is None else fit.signs[best].node
        self._optimizer_state = None
        self.tree_ = self._fold(fit.tree)
        self.n_iter_ = result.n_epochs
        self.best_epoch_ = result.best_epoch
        self.history_ = fit.history(result, self._error_unit)
        self.moved_leaves_ = None
        if fit.settings.leaf_moves:
            start, end = fit.starts[best].leaf_input, result.tree.leaf_input
            self.moved_leaves_ = {
                "tried": self._leaves_per_feature(result.moves[:, 3]),
                "stayed": self._leaves_per_feature(end[end != start]),
            }

    def _leaves_per_feature(self, inputs: IntArray) -> IntArray:
        """Count leaves by feature, from the input of each leaf."""
        return np.bincount(self.encoder_.groups[inputs], minlength=self.n_features_in_)

    def _n_epochs(self, rows: Rows) -> int:
        """Return `max_epochs`; by default, small tables are trained for more epochs than large."""
        epochs = setting_of(self, "max_epochs")
        if is_auto(epochs):
            return n_epochs(rows.n_examples, self._fewest_epochs, self._n_classes())
        return int(epochs)

    def _settings(self, rows: Rows, *, is_continued: bool = False) -> TrainingSettings:
        """Return all settings; a training in parts keeps rate and decay of the first rows.

        Of a model that was loaded, these are the first rows after that.
        """
        if not (is_continued and hasattr(self, "_rate_and_decay")):
            self._rate_and_decay = {
                "learning_rate": learning_rate(rows.n_examples, self._n_classes()),
                "weight_decay": self._weight_decay(rows),
            }
        stops = bool(self.early_stopping)
        settings = self._completed_training(
            self._loss(),
            {
                **self._rate_and_decay,
                "leaf_moves": LEAF_MOVES,
                "batch_size": batch_size(rows.n_examples),
                "block_rows": rows.block_rows,
                "max_epochs": self._n_epochs(rows),
                "select": "epoch" if stops else None,
                "patience": PATIENCE if stops else None,
            },
        )
        return settings if self._leaves_may_move() else settings.set_params(leaf_moves=0)

    def _weight_decay(self, rows: Rows, capacity: Capacity = SINGLE_TREE) -> float:
        decay = setting_of(self, "weight_decay")
        if is_auto(decay):
            n_effective = self._effective_share(rows) * rows.n_examples
            return self._choice.decay_factor * capacity.weight_decay(n_effective)
        return float(decay)

    def _attributes_at(self, state: Any) -> dict[str, Any] | None:
        """Return the fitted attributes as of `state`."""
        tree = getattr(state, "tree", None)
        return None if tree is None else {"tree_": self._fold(tree)}

    def _fold(self, tree: NeuralTree) -> NeuralTree:
        return fold(tree, self._input_scaling, self._output_scaling())

    def _last_tree(self) -> NeuralTree:
        if not hasattr(self, "_trained_tree"):
            raise ValueError(
                f"this {type(self).__name__} cannot be trained further, since it was loaded from a "
                "file or made by from_torch: fit it with warm_start=False"
            )
        return self._trained_tree

    def _learning(self) -> Learning | None:
        if not hasattr(self, "_trained_tree"):
            return None
        (tree,), signs = self._constrained([self._trained_tree])
        required = None if signs is None else weight_signs(tree, signs[0])
        return Learning(
            tree,
            self._loss(),
            self._input_scaling,
            self._target_scaling,
            self._output_scaling(),
            required,
        )

    def _fit_part(self, rows: Rows) -> None:
        if self._is_readable:
            raise ValueError(
                "n_weights='readable' chooses and rounds weights with all rows, and partial_fit "
                "gets a part of them: use fit, or another n_weights"
            )
        before = self._progress()
        fit = self._plan_part(rows)
        self._train(fit, None)
        self._add_progress(fit, *before)

    def _plan_part(self, rows: Rows) -> TreeFit:
        """Plan one epoch at a constant rate, with the scaling of the first call."""
        seed, n_before, state = self._draw_seed(), 0, None
        is_continued = self.__sklearn_is_fitted__()
        if is_continued:
            tree, state, n_before = self._last_tree(), self._optimizer_state, self.n_iter_
        else:
            # Columns that are constant in the first rows may vary in later ones.
            self._learn_scaling(rows, constant=1.0)
            tree = self._draw_tree(rows, np.random.default_rng(seed))
        settings = self._settings(rows, is_continued=is_continued).set_params(
            max_epochs=1,
            schedule="constant",
            select=None,
            patience=None,
            leaf_moves=0,
        )
        return self._new_fit([tree], rows.one_epoch(), None, settings, seed + n_before, state)

    def _progress(self) -> tuple[int, dict[str, Array]]:
        """Return the number of epochs so far, and their history."""
        return getattr(self, "n_iter_", 0), getattr(self, "history_", {})

    def _add_progress(self, fit: TreeFit, n_before: int, history: dict[str, Array]) -> None:
        """Add the epochs before the last one, and keep the state of the optimizer."""
        self._optimizer_state = fit.result.optimizer_state
        self.n_iter_ += n_before
        for name, figures in self.history_.items():
            memory = self.__dict__.setdefault("_history_memory", defaultdict(GrowingArray))[name]
            self.history_[name] = memory.append(history.get(name, np.empty(0)), figures)


@declared
class BNeuralTClassifier(ClassifierInParts, ClassifierTask, SingleTree, ClassifierParameters):
    """Classify with one neural tree.

    The tree is drawn at random, with one subtree for each class, and all its weights are trained
    by backpropagation. Features are scaled internally, so no scaler is needed.

    {parameters}

    Attributes
    ----------
    tree_ : NeuralTree
        The trained tree; it works on unscaled inputs. `tree_.forward(encoder_.encode(X))` gives the
        scores of the classes.
    {classes}
    n_parameters_ : int
        Number of trainable weights.
    {columns}
    n_iter_ : int
        Number of epochs run.
    history_ : dict of arrays
        For each epoch: `train_loss`, `train_score` (accuracy), `learning_rate` and, where there
        were validation rows, `val_loss` and `val_score`. Training figures are means over the
        updates of the epoch. `pandas.DataFrame(clf.history_)` is a table of it.
    {training}

    Examples
    --------
    >>> from bneuralt import BNeuralTClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BNeuralTClassifier(random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.95
    True
    >>> clf.predict(X[:2])
    array([0, 0])
    """


@declared
class BNeuralTRegressor(RegressorInParts, RegressorTask, SingleTree, RegressorParameters):
    """Predict numbers with one neural tree.

    The tree is drawn at random, and all its weights are trained by backpropagation. Features and
    target are scaled internally, so no scaler is needed.

    {parameters}

    Attributes
    ----------
    tree_ : NeuralTree
        The trained tree, from unscaled inputs to the target in its own units.
        `tree_.forward(encoder_.encode(X))` predicts; with ``loss="poisson"`` its outputs are
        logarithms, with ``loss="quantile"`` they are not sorted.
    n_outputs_ : int
        Number of columns of y.
    calibration_ : Calibration or None
        Residuals of the rows that were held out by `conformal`.
    n_parameters_ : int
        Number of trainable weights.
    {columns}
    n_iter_ : int
        Number of epochs run.
    history_ : dict of arrays
        For each epoch: `train_loss` (of the scaled target), `train_score` (r2), `learning_rate`
        and, where there were validation rows, `val_loss` and `val_score`. Training figures are
        means over the updates of the epoch. `pandas.DataFrame(reg.history_)` is a table of it.
    {training}

    Examples
    --------
    >>> from bneuralt import BNeuralTRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = BNeuralTRegressor(random_state=0).fit(X, y)
    >>> reg.score(X, y) > 0.5
    True
    >>> reg.predict(X[:2]).round(-2)
    array([200., 100.])
    """
