"""Model files as the program writes and reads them: an estimator, and what `train` remembers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bneuralt.cli.errors import BAD_MODEL, CANNOT_WRITE, CommandError
from bneuralt.cli.outputs import check_output
from bneuralt.tables.encoding import FeatureColumn, TableEncoding
from bneuralt.tables.reading import Table


def check_model_output(path: str, inputs: tuple[str, ...]) -> None:
    """Like `check_output`; refuses moreover to replace a file that is not a model."""
    from bneuralt import load_model

    check_output(path, inputs=inputs)
    if Path(path).exists() and Path(path).stat().st_size:
        try:
            load_model(path)
        except (ValueError, OSError):
            raise CommandError(
                f"--out {path}: there is a file of that name that is not a model; it is not "
                "overwritten. Choose another name or remove it.",
                CANNOT_WRITE,
            ) from None


def save_model(model: Any, path: str, extra: dict[str, Any]) -> None:
    try:
        model.save(path, extra=extra)
    except OSError as error:
        raise CommandError(
            f"--out {path}: cannot be written: {error.strerror or error}.", CANNOT_WRITE
        ) from None


def read_model(path: str) -> Any:
    """Load a model; errors of the file become messages."""
    from bneuralt import load_model

    try:
        return load_model(path)
    except FileNotFoundError:
        raise CommandError(f"{path}: no such file.", BAD_MODEL) from None
    except OSError as error:
        raise CommandError(
            f"{path}: cannot be read: {error.strerror or error}.", BAD_MODEL
        ) from None


def table_encoding(model: Any, path: str) -> TableEncoding:
    """The encoding that `train` stored; for a model saved in Python, its features as numbers."""
    stored = model.extra_.get("table")
    if stored is not None:
        try:
            encoding = TableEncoding.from_dict(stored)
        except ValueError as error:
            raise CommandError(f"{path}: {error}", BAD_MODEL) from None
        n = len(encoding.feature_names)
        if n != model.n_features_in_:
            raise CommandError(
                f"{path}: its table encoding gives {n} features, its model takes "
                f"{model.n_features_in_}.",
                BAD_MODEL,
            )
        return encoding
    names = getattr(model, "feature_names_in_", None)
    n = model.n_features_in_
    columns = [str(name) for name in names] if names is not None else [f"x{i}" for i in range(n)]
    return TableEncoding(
        columns=tuple(FeatureColumn(name, i) for i, name in enumerate(columns)),
        target="target",
        target_position=n,
        task=task_of(model),
        whole_numbers=task_of(model) == "classification" and model.classes_.dtype.kind in "iu",
        n_columns=n + 1,
        has_header=names is not None,
    )


def held_out_rows(model: Any, path: str, table: Table) -> np.ndarray | None:
    """The rows that `train` held out; None if it did not, or if this is not the table it read."""
    rows = model.extra_.get("held_out_rows")
    if not rows or model.extra_.get("data_sha256") != table.sha256:
        return None
    if not isinstance(rows, list) or any(
        type(row) is not int or not 0 <= row < table.n_rows for row in rows
    ):
        raise CommandError(f"{path}: its list of held-out rows is damaged.", BAD_MODEL)
    return np.array(rows)


def task_of(model: Any) -> str:
    return "classification" if hasattr(model, "classes_") else "regression"


def feature_names(model: Any, path: str) -> list[str]:
    """Names of the model's inputs, for drawings."""
    return table_encoding(model, path).feature_names
