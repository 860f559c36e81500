"""The work of `bneuralt train`: make an estimator, fit it, and score it."""

from __future__ import annotations

import argparse
import difflib
import json
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bneuralt import __version__
from bneuralt._typing import Array
from bneuralt.cli import evaluation
from bneuralt.cli.errors import BAD_DATA, USAGE, CommandError
from bneuralt.cli.outputs import StatusLine, count
from bneuralt.cli.summary import train_report
from bneuralt.cli.trained_models import save_trained_model, trees_of
from bneuralt.estimators import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
)
from bneuralt.fitting.large_integers import RoundedIntegersWarning
from bneuralt.fitting.outliers import OutlyingTargetWarning
from bneuralt.fitting.readable import ReadableTreeWarning
from bneuralt.fitting.trial import CONSTANT_IS_AS_GOOD, LINEAR_IS_AS_GOOD
from bneuralt.tables.columns import Frame
from bneuralt.tables.csv_files import TableError, quoted
from bneuralt.tables.value_warnings import COLUMN_WARNINGS

if TYPE_CHECKING:
    from bneuralt.estimators.base import NeuralTreeEstimator

__all__ = [
    "SplitTable",
    "fit_and_score",
    "make_model",
    "split_table",
    "train_and_report",
]

_ESTIMATORS: dict[tuple[str, bool], Any] = {
    ("classification", False): BNeuralTClassifier,
    ("classification", True): BNeuralForestClassifier,
    ("regression", False): BNeuralTRegressor,
    ("regression", True): BNeuralForestRegressor,
}


@dataclass(frozen=True, eq=False)
class SplitTable:
    """The rows of a table to train on, and those that are held out.

    Attributes
    ----------
    task : {"classification", "regression"}
    target : str
        Name of the target; empty if it has none.
    X : Frame or BlockTable
        Rows to train on.
    y : array or None
        Their targets; None if X is read in blocks.
    sample : tuple of Frame and array
        The rows to train on and their targets, or some of them.
    held_out : tuple of Frame and array, or None
    n_rows : int
        Number of all rows.
    class_counts : dict or None
        Number of rows of each class.
    """

    task: str
    target: str
    X: Any
    y: Array | None
    sample: tuple[Frame, Array]
    held_out: tuple[Frame, Array] | None
    n_rows: int
    class_counts: dict[str, int] | None


def make_model(
    task: str,
    settings: Sequence[str],
    *,
    forest: bool,
    seed: int,
    n_jobs: int | None,
    verbose: bool,
) -> Any:
    """Create an unfitted estimator.

    Parameters
    ----------
    task : {"classification", "regression"}
        The task.
    settings : sequence of str
        Values of ``--set``, each of the form ``NAME=VALUE``.
    forest : bool
        Whether to create a forest instead of a tree.
    seed : int
        The random state.
    n_jobs : int or None
        Number of threads; None for the default.
    verbose : bool
        Whether training shows its progress.

    Returns
    -------
    estimator
        The estimator.
    """
    estimator = _ESTIMATORS[task, forest]
    names = _parameters_by_name(estimator())
    parameters: dict[str, Any] = {"random_state": seed}
    if n_jobs is not None:
        parameters["n_jobs"] = n_jobs
    if verbose:
        parameters["verbose"] = 1
    for text in settings:
        name, sign, value = text.partition("=")
        if not sign:
            raise CommandError(f"--set {text}: must have the form NAME=VALUE.")
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise CommandError(
                f"--set {text}: {estimator.__name__} has no setting {name!r}.{hint} "
                f"Its settings are: {', '.join(sorted(names))}."
            )
        parameters[names[name]] = _parse_value(value)
    try:
        return estimator().set_params(**parameters)
    except (TypeError, ValueError) as error:
        raise CommandError(f"a setting cannot be used: {error}") from error


def set_columns(
    model: NeuralTreeEstimator, categorical: Sequence[str], numeric: Sequence[str], keep_ids: bool
) -> None:
    """Set the parameters that follow from --categorical, --numeric and --keep-ids."""
    both = next((name for name in numeric if name in categorical), None)
    if both is not None:
        raise CommandError(f"--numeric {both!r}: the column is also in --categorical.", USAGE)
    if categorical or numeric:
        forms = dict.fromkeys(categorical, "category") | dict.fromkeys(numeric, "number")
        model.set_params(categorical_features=forms)
    if keep_ids:
        model.set_params(identifiers="keep")


def check_categories(model: NeuralTreeEstimator, X: Any, most: int | None, source: str) -> None:
    """Raise an error if a column of categories has more values than --max-categories allows."""
    if most is None:
        return
    encoder = model.encoder_
    for j, feature in enumerate(encoder.features):
        listed = model.categorical_features
        is_declared = not isinstance(listed, str) and encoder.name(j) in listed
        if not feature.is_one_hot or is_declared:
            continue
        texts = X.columns[j].as_text().texts
        if len(texts) > most:
            name = encoder.name(j)
            raise CommandError(
                f"{source}: column {name!r} has {len(texts)} distinct texts, such as "
                f"{quoted(sorted(texts), 3)}. If it identifies the rows, drop it (--drop "
                f"{name!r}); otherwise increase --max-categories (now {most}).",
                BAD_DATA,
            )


def _parameters_by_name(model: NeuralTreeEstimator) -> dict[str, str]:
    """Return the parameters by the names of ``--set``: those of `growth` and `training` go bare."""
    nested = {name.rpartition("__")[2]: name for name in model.get_params()}
    return nested | {name: name for name in model.get_params(deep=False)}


def _parse_value(text: str) -> Any:
    """Return the value of a setting: a number, a bool, None, or text."""
    words = {"none": None, "null": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def split_table(
    X: Frame, y: Array, task: str, target: str, source: str, test_fraction: float, seed: int
) -> SplitTable:
    """Hold out some rows of a table in memory.

    Parameters
    ----------
    X, y : Frame, array
        Features and targets.
    task, target : str
    source : str
        Name of the table, for messages.
    test_fraction : float
        Fraction of the rows to hold out.
    seed : int
    """
    train, test = evaluation.split_rows(task, y, test_fraction, seed)
    _check_training_rows(task, y[train], source, test_fraction)
    rows = X.take(train), y[train]
    held_out = (X.take(test), y[test]) if len(test) else None
    counts = _class_counts(y) if task == "classification" else None
    return SplitTable(task, target, *rows, rows, held_out, len(y), counts)


def train_and_report(
    args: argparse.Namespace,
    settings: Sequence[str],
    table: SplitTable,
    columns: tuple[Sequence[str], Sequence[str]],
    *,
    folds: int = 0,
    data: dict[str, Any],
    extra: dict[str, Any],
    notes: Sequence[str] = (),
) -> None:
    """Train a model by the arguments of `bneuralt train`, write it, and print the report.

    Parameters
    ----------
    args, settings, table, folds
        See `fit_and_score` and `make_model`.
    columns : two sequences of str
        Columns that are declared to be categories, and to be numbers.
    data, extra, notes
        What the report says of the table, what is stored with the model, and notes on the table.
    """
    with StatusLine(args.verbose) as status:
        model = make_model(
            table.task,
            settings,
            forest=args.forest,
            seed=args.seed,
            n_jobs=args.jobs,
            verbose=args.verbose,
        )
        set_columns(model, *columns, args.keep_ids)
        check_single_prediction(model)
        report = fit_and_score(
            model, table, folds=folds, seed=args.seed, has_settings=bool(settings), status=status
        )
    if isinstance(table.X, Frame):
        check_categories(model, table.X, args.max_categories, args.data)
    scores = report["held_out"]["scores"] if report["held_out"] else None
    save_trained_model(model, args.out, {**extra, "held_out_scores": scores})
    report["notes"] = [*notes, *report["notes"]]
    report["data"] = {**data, **report["data"]}
    report["model"]["file"] = args.out
    print(json.dumps(report, indent=2) if args.json else train_report(report))


def fit_and_score(
    model: NeuralTreeEstimator,
    table: SplitTable,
    *,
    folds: int,
    seed: int,
    has_settings: bool,
    status: Callable[[str], None],
) -> dict[str, Any]:
    """Fit a model and score it on the rows that were held out.

    Parameters
    ----------
    model : estimator
        From `make_model`.
    table : SplitTable
    folds : int
        Folds of the cross-validation; 0 for none. Tables in blocks have none.
    seed : int
        Seed of the splits.
    has_settings : bool
        Whether the user changed settings, which then are the likely cause of a failure.
    status : callable
        Called with a message before each step.

    Returns
    -------
    dict
        The report of ``bneuralt train --json``, without the names of files.
    """
    task, test = table.task, table.held_out
    n_test = 0 if test is None else len(test[1])
    status(f"training on {count(table.n_rows - n_test, 'row')}")
    seconds, learnt = timed_fit(model, table.X, table.y, USAGE if has_settings else BAD_DATA)
    model.model_ = replace(model.model_, target_names=(table.target,) if table.target else ())
    held_out, cv = None, None
    if test is not None:
        held_out = score_held_out(model, task, *test, table.sample[1])
    if held_out is not None and test is not None and table.y is not None:
        held_out["seen_rows"] = evaluation.seen_rows(model, table.sample, test)
        if held_out["seen_rows"] >= _NOTABLE_SEEN * n_test:
            learnt.append(
                f"{held_out['seen_rows']:,} of {count(n_test, 'held-out row')} are equal to "
                "training rows, so the scores may be too good for new rows; remove repeated rows."
            )
    if folds and table.y is not None:
        cv = evaluation.cross_validate(model, task, table.X, table.y, folds, seed, status)
    status("computing feature importances")
    return {
        "bneuralt": __version__,
        "task": task,
        "data": {
            "rows": table.n_rows,
            "features": n_used(model),
            "target": table.target,
            "classes": table.class_counts,
        },
        "model": describe_model(model),
        "training": {"rows": table.n_rows - n_test, "seconds": seconds, "seed": seed},
        "held_out": held_out,
        "cross_validation": cv,
        "features": evaluation.feature_usage(model, *(test or table.sample), seed),
        "notes": [*learnt, *_notes(task, table.class_counts or {}, model)],
    }


def check_single_prediction(model: NeuralTreeEstimator) -> None:
    """Raise an error if a model predicts several quantiles."""
    if model.loss == "quantile" and np.size(model.quantiles) > 1:
        raise CommandError(
            "loss=quantile predicts several quantiles; name one, for example with --set "
            "quantiles=0.9",
            USAGE,
        )


#: Warnings on the table, which the report has as notes.
_TABLE_WARNINGS = (
    *COLUMN_WARNINGS,
    OutlyingTargetWarning,
    ReadableTreeWarning,
    RoundedIntegersWarning,
)

#: Words of warnings in Python, and what the program says instead.
_ADVICE = {
    "name the column in categorical_features": "use --categorical COLUMN",
    "set categorical_features={column: 'number'}": "use --numeric COLUMN",
    "set sentinels=None": "use --set sentinels=none",
    "set identifiers='keep'": "use --keep-ids",
    "use loss='huber'": "use --set loss=huber",
    "n_weights='readable': ": "",
    "use n_weights='auto' if": "omit --readable if",
    "' of X": "'",
}

#: Held-out rows that are equal to training rows are noted from this share on.
_NOTABLE_SEEN = 0.05

#: A class with this share of the rows dominates; one with fewer rows than this cannot be judged.
_DOMINANT_SHARE = 0.8
_FEW_ROWS = 5


#: What a report says where a trial found no use of trees.
_SIMPLER = {
    CONSTANT_IS_AS_GOOD: "in cross-validation, no model was better than one answer for all rows.",
    LINEAR_IS_AS_GOOD: "in cross-validation, a linear model was as good as the trees.",
}


def _notes(task: str, class_counts: dict[str, int], model: NeuralTreeEstimator) -> list[str]:
    """Return what a user should know about the model and about the classes."""
    reason = model.recipe_.reasons.get("linear_share", "")
    simpler = [note for words, note in _SIMPLER.items() if words in reason]
    if task == "regression":
        return simpler
    labels = model.classes_.tolist()
    counts = [class_counts.get(str(label), 0) for label in labels]
    notes = simpler + [
        f"class {label!r} has only {count(n, 'row')}, too few to learn or to judge it."
        for label, n in zip(labels, counts, strict=True)
        if 0 < n < _FEW_ROWS
    ]
    share = max(counts) / max(1, sum(counts))
    if share >= _DOMINANT_SHARE and model.class_weight is None:
        notes.append(
            f"{share:.0%} of the rows have the class {labels[int(np.argmax(counts))]!r}; look at "
            "the balanced accuracy, and try --set class_weight=balanced."
        )
    return notes


def timed_fit(
    model: NeuralTreeEstimator, X: Any, y: Array | None, error_code: int
) -> tuple[float, list[str]]:
    """Fit a model; return the seconds it took, and notes on the columns of the table."""
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X, y)
        except TableError:
            raise
        except ValueError as error:
            # The table has been checked, so the cause is a setting, or numbers that are too large.
            raise CommandError(f"training failed: {error}", error_code) from error
    seconds = time.perf_counter() - started
    notes = [str(w.message) for w in caught if issubclass(w.category, _TABLE_WARNINGS)]
    for w in caught:
        if not issubclass(w.category, _TABLE_WARNINGS):
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    for in_python, in_program in _ADVICE.items():
        notes = [note.replace(in_python, in_program) for note in notes]
    return seconds, notes


def score_held_out(
    model: NeuralTreeEstimator, task: str, X: Any, y: Array, y_train: Array
) -> dict[str, Any]:
    """Return scores on rows that were held out, beside those of the best constant."""
    predicted = model.predict(X)
    held_out = {
        "rows": len(y),
        "scores": evaluation.model_scores(model, task, X, y),
        "always_the_same": evaluation.baseline(task, y_train, y),
    }
    if task == "classification":
        held_out["confusion"] = evaluation.confusion(y, predicted)
    return held_out


def n_used(model: NeuralTreeEstimator) -> int:
    """Return the number of columns that a model uses."""
    return sum(feature.kind != "unused" for feature in model.encoder_.features)


def describe_model(model: NeuralTreeEstimator) -> dict[str, Any]:
    """Return kind and size of a fitted model."""
    trees = trees_of(model)
    return {
        "kind": "tree" if hasattr(model, "tree_") else "forest",
        "trees": len(trees),
        "weights": sum(tree.n_parameters for tree in trees),
        "nodes": sum(tree.size for tree in trees),
        "depth": max(tree.depth for tree in trees),
    }


def _check_training_rows(task: str, y: Array, source: str, test_fraction: float) -> None:
    if len(y) < 2:
        raise CommandError(
            f"{source}: {count(len(y), 'row')} left for training if a fraction of {test_fraction} "
            "is held out; at least 2 are needed. Add rows or reduce --test-fraction.",
            BAD_DATA,
        )
    if task == "classification" and len(np.unique(y)) < 2:
        raise CommandError(
            f"{source}: all {len(y)} training rows have the class {y[0].item()!r}; at least two "
            "classes are needed. Add rows or reduce --test-fraction.",
            BAD_DATA,
        )


def _class_counts(y: Array) -> dict[str, int]:
    labels, counts = np.unique(y, return_counts=True)
    return {str(label): int(count) for label, count in zip(labels, counts, strict=True)}
