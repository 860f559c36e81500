"""Methods of fitted estimators that write them as code for other places."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from bneuralt.files import write_together
from bneuralt.model import Model

__all__ = ["Exporting", "c_files"]


class Exporting:
    """Adds exports to an estimator."""

    def to_c(
        self,
        path: str | PathLike[str],
        name: str | None = None,
        dtype: str = "double",
        *,
        style: str = "auto",
        libm: bool = True,
        main: bool = False,
        contributions: bool = False,
        X: Any = None,
        y: Any = None,
    ) -> list[Path]:
        """Write the model as C99 source code.

        The code has no dependency but ``<math.h>`` (the trees of integer code have none), allocates
        no memory, and includes the encoding of the table: missing values, categories and dates.
        Integer code computes the same whole numbers as ``quantize(dtype)``, and the comment at its
        top states a bound on the difference to the model, the difference that was seen, and its
        size.

        Parameters
        ----------
        path : str or path-like
            ``NAME.h`` for a header with everything; ``NAME.c`` for a source file with a header.
        name : str, optional
            What all names in the code begin with; by default the name of the file.
        dtype : {"double", "float", "int16", "int8"}
            Type of weights and values.
        style : {"auto", "tables", "code"}
            Whether trees are tables that a loop reads, or are written out as statements, which is
            faster and, for large trees, larger. "auto" writes out small trees.
        libm : bool
            Whether functions of ``<math.h>`` are used; otherwise the code has its own.
        main : bool
            Whether to write a program ``NAME_main.c``, too, which predicts the rows of a CSV file.
        contributions : bool
            Whether to add a function ``NAME_contributions``, which attributes the prediction of a
            row to its features as `explain` does. For regressors and single trees that classify,
            with ``double`` and ``float``.
        X, y : array-like, optional
            Rows on which the loss of accuracy of integer code is measured. Without them, it is
            compared with the model on random rows.

        Returns
        -------
        list of pathlib.Path
            The files that were written: all of them, or none if there is an error.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from sklearn.datasets import load_iris
        >>> from bneuralt import BNeuralTClassifier
        >>> iris = load_iris(as_frame=True)
        >>> clf = BNeuralTClassifier(random_state=0).fit(iris.data, iris.target)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = clf.to_c(Path(folder) / "iris.h", dtype="int8")
        ...     print("int iris_predict(const iris_input *x)" in files[0].read_text())
        True
        """
        options: dict[str, Any] = {"style": style, "libm": libm, "main": main}
        options |= {"contributions": contributions, "X": X, "y": y}
        files = c_files(self, path, name, dtype, **options)
        write_together(files)
        return list(files)

    def quantize(self, dtype: str = "int8", X: Any = None) -> Any:
        """Return an estimator that computes with whole numbers what this one computes.

        Weights and values are rounded to 8 or 16 bits. The C code of ``to_c(path, dtype=dtype)``
        computes the same whole numbers.

        Parameters
        ----------
        dtype : {"int8", "int16"}
            Type of weights and values; sums have twice as many bits.
        X : array-like of shape (n_rows, n_features), optional
            Rows whose values are the range of the inputs; values outside are clipped. By default
            the range of the training rows, which fitted models know.

        Returns
        -------
        QuantizedClassifier or QuantizedRegressor
            Fitted; `error_bound_` says by how much its probabilities or predictions can differ from
            those of this model over the training range.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from bneuralt import BNeuralTClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = BNeuralTClassifier(random_state=0).fit(X, y)
        >>> clf.quantize("int8").score(X, y) > clf.score(X, y) - 0.03
        True
        """
        from bneuralt.estimators.quantized import quantized

        return quantized(self, dtype, X)


def c_files(
    estimator: Any,
    path: str | PathLike[str],
    name: str | None = None,
    dtype: str = "double",
    *,
    X: Any = None,
    y: Any = None,
    **options: Any,
) -> dict[Path, str]:
    """Return the files that `to_c` writes, as a dict from path to content."""
    from bneuralt.export import c
    from bneuralt.export.whole import FORMATS

    model: Model = estimator.model_
    if (X is None) != (y is None):
        raise ValueError("X and y must be given together, or neither of them")
    if dtype not in FORMATS:
        return c.c_files(model, path, name, dtype, **options)
    rounded = estimator.quantize(dtype, X if model.input_ranges is None else None)
    remarks = []
    if X is not None:
        before, after = estimator.score(X, y), rounded.score(X, y)
        score = "Accuracy" if model.task != "numbers" else "Score"
        remarks.append(
            f"{score} on {len(X):,} rows: {before:.4f} with real weights, {after:.4f} with "
            f"{dtype} (a loss of {100 * (before - after):.2f} points)."
        )
    integers = rounded.integer_model_
    return c.c_files(model, path, name, dtype, integers=integers, remarks=remarks, **options)
