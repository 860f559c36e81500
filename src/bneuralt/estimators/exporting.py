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

    model_: Model

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

    def to_onnx(self, dtype: str = "double") -> Any:
        """Convert the model to ONNX.

        Parameters
        ----------
        dtype : {"double", "float"}
            In which the trees compute. Inputs and outputs are float32 in any case. Trees are for
            unscaled features, so float loses digits where a column has a large mean and a small
            spread; use it for hardware that has nothing else.

        Returns
        -------
        onnx.ModelProto
            With the outputs that scikit-learn's converters have: ``label`` (int64 or string) and
            ``probabilities`` for classifiers, ``variable`` for regressors.

            A table of numbers is one float32 input ``X`` of shape (n_rows, n_columns), in which NaN
            is a missing value; categories that are numbers are columns like any other. If a column
            has texts or dates, each column that the model reads is an input with its name, of shape
            (n_rows, 1): float32 for numbers, string for categories, and for dates int64, seconds
            since 1970 as in NumPy's ``datetime64[s]``.

            Numbers that are too large for sums of them are limited, infinite ones included, so that
            no probability is NaN.

        Raises
        ------
        ImportError
            The package onnx is not installed.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from bneuralt import BNeuralTClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = BNeuralTClassifier(max_epochs=20, random_state=0).fit(X, y)
        >>> import onnxruntime  # doctest: +SKIP
        >>> proto = model.to_onnx().SerializeToString()  # doctest: +SKIP
        >>> session = onnxruntime.InferenceSession(proto)  # doctest: +SKIP
        >>> label, probabilities = session.run(  # doctest: +SKIP
        ...     None, {"X": X.astype(np.float32)}
        ... )
        >>> np.allclose(probabilities, model.predict_proba(X), atol=1e-5)  # doctest: +SKIP
        True
        """
        from bneuralt.export.onnx import to_onnx

        return to_onnx(self.model_, dtype)

    def to_torch(self, dtype: Any = None) -> Any:
        """Convert the model to a PyTorch module with trainable weights.

        Parameters
        ----------
        dtype : torch.dtype, optional
            Of the weights; by default that of the model's trees.

        Returns
        -------
        torch.nn.Module
            Called with inputs of shape (n_rows, n_inputs), it returns what `predict_proba` of a
            classifier or `predict` of a regressor returns. Its method ``scores`` returns the
            outputs of all trees, of shape (n_trees, n_rows, n_outputs): of these, losses such as
            cross entropy are computed. ``encode`` turns a table into inputs, as the model does with
            categories, dates and missing values; a table of numbers without gaps needs none.

            Each tree is one parameter, the vector `NeuralTree.parameters`. `bneuralt.from_torch`
            makes an estimator of the module.

        Raises
        ------
        ImportError
            The package torch is not installed.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from bneuralt import BNeuralTClassifier, from_torch
        >>> X, y = load_iris(return_X_y=True)
        >>> model = BNeuralTClassifier(max_epochs=20, random_state=0).fit(X, y)
        >>> import torch  # doctest: +SKIP
        >>> module = model.to_torch()  # doctest: +SKIP
        >>> optimizer = torch.optim.SGD(module.parameters(), lr=1e-3)  # doctest: +SKIP
        >>> loss = torch.nn.functional.cross_entropy(  # doctest: +SKIP
        ...     module.scores(module.encode(X))[0], torch.tensor(y)
        ... )
        >>> loss.backward(); _ = optimizer.step()  # doctest: +SKIP
        >>> better = from_torch(module)  # doctest: +SKIP
        """
        from bneuralt.export.torch import to_torch

        module = to_torch(self.model_, dtype)
        module.estimator = self
        return module


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
