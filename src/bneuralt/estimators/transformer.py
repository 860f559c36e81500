"""The table encoder as a transformer of scikit-learn, for use with any model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from bneuralt._sklearn import StrOptions, check_feature_names_in, fit_context
from bneuralt._typing import Array
from bneuralt.fitting.weights import read_weights
from bneuralt.model.inputs import Columns, encoded, finite_inputs, read_table
from bneuralt.tables.encoder import TableEncoder, learn_encoder

__all__ = ["TableTransformer"]


class TableTransformer(TransformerMixin, BaseEstimator):
    """Encode the columns of any table as numbers without missing values.

    The estimators of this package do this internally. For other models, the transformer replaces
    imputation and one-hot encoding. Every column with missing values gets an indicator; the
    estimators leave out indicators without a relation to the target.

    Parameters
    ----------
    categorical_features : 'from_dtype', array-like or None
        Which columns are categories, as in `BNeuralTClassifier`: those with text or of a
        categorical type; further ones by names, indices or a mask; or none.

    Attributes
    ----------
    encoder_ : TableEncoder
        How columns become inputs.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of shape (n_features,)
        Names of the columns, if X had names that are all strings.

    Examples
    --------
    >>> import pandas as pd
    >>> from bneuralt import TableTransformer
    >>> frame = pd.DataFrame({"age": [30, None, 50, 40], "city": ["Rome", "Oslo", "Rome", "Oslo"]})
    >>> TableTransformer().set_output(transform="pandas").fit_transform(frame)
        age  age is missing  city=Rome
    0  30.0             0.0        1.0
    1  40.0             1.0        0.0
    2  50.0             0.0        1.0
    3  40.0             0.0        0.0
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None]
    }

    def __init__(self, categorical_features: Any = "from_dtype") -> None:
        self.categorical_features = categorical_features

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn how the columns become numbers.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            A data frame (pandas, polars, Arrow), an array or a sparse matrix.
        y : ignored
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row; rows of weight 0 are ignored.

        Returns
        -------
        self
        """
        table, columns = read_table(
            X, type(self).__name__, categorical_features=self.categorical_features
        )
        weight, counts = read_weights(sample_weight, table)
        encoder = learn_encoder(
            table, weight, self.categorical_features, columns.names, counts=counts
        )
        finite_inputs(columns, encoder, encoded(encoder, table))  # refuses infinite numbers
        self.encoder_: TableEncoder = encoder
        return self

    @property
    def _columns(self) -> Columns:
        encoder = self.encoder_
        return Columns(type(self).__name__, len(encoder.features), encoder.names)

    @property
    def n_features_in_(self) -> int:
        """Number of columns of X."""
        return self._columns.n_columns

    @property
    def feature_names_in_(self) -> Array:
        """Names of the columns, if X had names that are all strings."""
        if self.encoder_.names is None:
            raise AttributeError("the columns had no names")
        return np.array(self.encoder_.names, dtype=object)

    def transform(self, X: Any) -> Array:
        """Return the table as numbers.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_inputs)
        """
        check_is_fitted(self)
        columns = self._columns
        table, _ = read_table(X, columns.estimator, columns)
        inputs = finite_inputs(columns, self.encoder_, encoded(self.encoder_, table))
        return inputs.copy() if self.encoder_.is_plain else inputs  # never X itself

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the inputs, such as ``city=Rome`` or ``age is missing``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns, to be used if those in training had none.

        Returns
        -------
        array of str
        """
        check_is_fitted(self)
        names = check_feature_names_in(self, input_features)
        return np.array(replace(self.encoder_, names=tuple(names)).input_names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags
