"""Methods of fitted estimators that convert them for other programs."""

from __future__ import annotations

from typing import Any

from bneuralt.model import Model

__all__ = ["Exporting"]


class Exporting:
    """Conversions of a fitted estimator."""

    @property
    def model_(self) -> Model:
        """The description of the fitted model."""
        raise NotImplementedError

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
