"""Methods of fitted estimators that write the model for other languages and programs."""

from __future__ import annotations

from typing import Any

from bneuralt.model import Model

__all__ = ["Exporting"]


class Exporting:
    """Base class of estimators that can be exported."""

    @property
    def model_(self) -> Model:
        """The description of the fitted model."""
        raise NotImplementedError

    def to_python(self, name: str = "predict") -> str:
        """Write the model as one Python function without imports.

        The function runs in any Python 3, without this library and without NumPy.

        Parameters
        ----------
        name : str
            Name of the function.

        Returns
        -------
        str
            Source code. The function takes the values of one row, in the order of the columns in
            training: numbers, texts, dates (as objects with `year`, `month`, `day`, or as text such
            as ``2024-05-31 14:00``), None or NaN for missing values. It returns

            - for classes: the label, and a tuple of the probabilities of all classes;
            - for several labels: a tuple of 0 or 1 for each, and a tuple of their probabilities;
            - for numbers: the number, or a tuple of them.

        Raises
        ------
        ValueError
            The name is not one that a Python function can have.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from bneuralt import BNeuralTClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = BNeuralTClassifier(max_epochs=20, random_state=0).fit(X, y)
        >>> namespace = {}
        >>> exec(model.to_python(), namespace)
        >>> label, probabilities = namespace["predict"](X[0])
        >>> label, len(probabilities)
        (0, 3)
        """
        from bneuralt.export.python import to_python

        return to_python(self.model_, name)

    def to_javascript(self, name: str = "predict") -> str:
        """Write the model as one JavaScript function without dependencies.

        Parameters
        ----------
        name : str
            Name of the function.

        Returns
        -------
        str
            Source code for browsers and Node: a function declaration, which a ``<script>`` element
            makes global and which Node exports (``const { predict } = require("./model.js")``).

            The function takes one row: an array of values in the order of the columns in training,
            or an object that has them by the names of the columns. Values are numbers, texts, dates
            (as text such as ``2024-05-31 14:00``, or as `Date`, in local time); null, undefined and
            NaN are missing. It returns

            - for classes: ``{label, probabilities}``, with an array of the probabilities of all
              classes;
            - for several labels: ``{labels, probabilities}``, two arrays, with 0 or 1 for each
              label in the first one;
            - for numbers: the number, or an array of them.

            Probabilities are in the order of ``predict.classes``. Labels that are whole numbers
            too large for JavaScript are texts.

        Raises
        ------
        ValueError
            The name is not one that a JavaScript function can have.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from bneuralt import BNeuralTClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = BNeuralTClassifier(max_epochs=20, random_state=0).fit(X, y)
        >>> print(model.to_javascript("iris").splitlines()[-1])
        if (typeof module !== "undefined" && module.exports) module.exports = { iris };
        """
        from bneuralt.export.javascript import to_javascript

        return to_javascript(self.model_, name)

    def to_sql(self, dialect: str = "sqlite", of: Any = None) -> str:
        """Write the model as one SQL expression.

        Parameters
        ----------
        dialect : {"sqlite", "postgresql", "duckdb"}
            The database. SQLite needs its mathematical functions, which most builds have.
        of : optional
            What the expression computes. By default the predicted class or number. A label of the
            model: the probability of that class. For several numbers: the name of one of them
            (``y0``, ``y1``; ``q0.05`` for a quantile).

        Returns
        -------
        str
            The expression. It refers to the columns by the names in training (``x0``, ``x1``, ...
            if there were none), as numbers, texts, and dates; NULL is a missing value. Names are
            quoted.

        Raises
        ------
        ValueError
            The dialect or `of` is unknown, a name cannot be written, or the model is too large for
            the database.

        Examples
        --------
        >>> import sqlite3
        >>> from sklearn.datasets import load_diabetes
        >>> from bneuralt import BNeuralTRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> model = BNeuralTRegressor(max_epochs=20, random_state=0).fit(X, y)
        >>> database = sqlite3.connect(":memory:")
        >>> _ = X.to_sql("patients", database)
        >>> numbers = database.execute(f"SELECT {model.to_sql()} FROM patients").fetchall()
        >>> bool(abs(numbers[0][0] - model.predict(X)[0]) < 1e-3)
        True
        """
        from bneuralt.export.sql import to_sql

        return to_sql(self.model_, dialect, of)
