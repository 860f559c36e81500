"""Methods of fitted estimators that export them as code and to other libraries."""

from __future__ import annotations

from os import PathLike
from typing import Any

from sklearn.base import BaseEstimator

__all__ = ["ExportMethods"]


class ExportMethods(BaseEstimator):
    """Adds exports to an estimator."""

    def _export(self, target: str, path: str | PathLike[str] | None, **options: Any) -> Any:
        """Return the model for a target; write it if there is a path."""
        from bneuralt.export.targets import TARGETS

        return TARGETS[target].export(self._raw(), path, **options)

    def to_c(
        self,
        path: str | PathLike[str] | None = None,
        *,
        name: str | None = None,
        dtype: str = "double",
        style: str = "auto",
        libm: bool = True,
        main: bool = False,
        contributions: bool = False,
        learning: Any = None,
        learns: str = "all",
        weight_decay: float = 0.0,
        X: Any = None,
        y: Any = None,
    ) -> str:
        """Write the model as C99 source code.

        The code has no dependency but ``<math.h>`` (the trees of integer code have none), allocates
        no memory, and includes the encoding of the table: missing values, categories and dates.
        Integer code computes the same whole numbers as ``quantize(dtype)``, and the comment at its
        top states a bound on the difference to the model, the difference that was seen, and its
        size.

        Parameters
        ----------
        path : str or path-like, optional
            The file to write: ``NAME.h`` for a header with everything; ``NAME.c`` for a source file
            with a header. All files are written, or none if there is an error.
        name : str, optional
            Prefix of all names in the code; by default the name of the file, or ``model``.
        dtype : {"double", "float", "int16", "int8"}
            Type of weights and values.
        style : {"auto", "tables", "code"}
            Whether trees are tables that a loop reads, or statements, which are faster and, for
            large trees, larger. "auto" writes small trees as statements.
        libm : bool
            Whether to use functions of ``<math.h>``; otherwise the code defines its own.
        main : bool
            Whether to write a program ``NAME_main.c`` that predicts the rows of a CSV file.
        contributions : bool
            Whether to add a function ``NAME_contributions``, which attributes the prediction of a
            row to its features as `explain` does. For regressors, single trees that classify and
            forests with `interaction_cst`, with ``double`` and ``float``.
        learning : {"sgd", "rmsprop"} or optimizer, optional
            Whether to add a function ``NAME_update(x, y, rate)``, which trains the weights on a row
            as `partial_fit` with ``batch_size=1`` does, by gradient descent or RMSprop. For single
            trees, with ``double`` and ``float``.
        learns : {"all", "outputs", "biases"}
            The weights that learn: all of them, those of the output nodes, or all biases. The
            others are constants, which need no RAM.
        weight_decay : float
            Weight decay of these updates.
        X, y : array-like, optional
            Rows on which the accuracy of integer code is measured. Without them, it is compared
            with the model on random rows.

        Returns
        -------
        str
            The header with everything, or the source file.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from bneuralt import BNeuralTClassifier
        >>> iris = load_iris(as_frame=True)
        >>> clf = BNeuralTClassifier(random_state=0).fit(iris.data, iris.target)
        >>> "int iris_predict(const iris_input *x)" in clf.to_c(name="iris", dtype="int8")
        True
        """
        return self._export(
            "c",
            path,
            name=name,
            dtype=dtype,
            style=style,
            libm=libm,
            main=main,
            contributions=contributions,
            learning=learning,
            learns=learns,
            weight_decay=weight_decay,
            X=X,
            y=y,
            measure=True,
        )

    def quantize(self, dtype: str = "int8", X: Any = None) -> Any:
        """Return an estimator that evaluates this model in integer arithmetic.

        Weights and values are rounded to 8 or 16 bits. The C code of ``to_c(path, dtype=dtype)``
        computes the same whole numbers.

        Parameters
        ----------
        dtype : {"int8", "int16"}
            Type of weights and values; sums have twice the number of bits.
        X : array-like of shape (n_rows, n_features), optional
            Rows that define the range of the inputs; values outside are clipped. By default the
            range of the training rows.

        Returns
        -------
        QuantizedClassifier or QuantizedRegressor
            Fitted; `error_bound_` bounds the difference of its probabilities or predictions from
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

    def to_python(
        self,
        path: str | PathLike[str] | None = None,
        *,
        name: str = "predict",
        contributions: bool = False,
    ) -> str:
        """Write the model as one Python function without imports.

        The function runs in any Python 3, without this library and without NumPy.

        Parameters
        ----------
        path : str or path-like, optional
            The file to write; by default, none is written.
        name : str
            Name of the function.
        contributions : bool
            Whether the function also returns the contributions of `explain`: of the columns to the
            prediction or, for classes and labels, to the scores. Not for forests that average
            probabilities.

        Returns
        -------
        str
            Source code. The function takes the values of one row, in the order of the columns in
            training: numbers, texts, dates (as objects with `year`, `month`, `day`, or as text such
            as ``2024-05-31 14:00``), None or NaN for missing values. It returns

            - for classes: the label, and a tuple of the probabilities of all classes;
            - for several labels: a tuple of 0 or 1 for each, and a tuple of their probabilities;
            - for numbers: the number, or a tuple of them.

            Contributions are one more element: a list with a number for each column or, for several
            labels, numbers or more than two classes, such a list for each of them.

        Raises
        ------
        ValueError
            The name is not a valid name of a Python function.

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
        return self._export("python", path, name=name, contributions=contributions)

    def to_javascript(
        self,
        path: str | PathLike[str] | None = None,
        *,
        name: str = "predict",
        contributions: bool = False,
    ) -> str:
        """Write the model as one JavaScript function without dependencies.

        Parameters
        ----------
        path : str or path-like, optional
            The file to write; by default, none is written.
        name : str
            Name of the function.
        contributions : bool
            Whether the function also returns the contributions of the columns; see `to_python`.

        Returns
        -------
        str
            Source code for browsers and Node: a function declaration, which a ``<script>`` element
            makes global and which Node exports (``const { predict } = require("./model.js")``).

            The function takes one row: an array of values in the order of the columns in training,
            or an object with the names of the columns as keys. Values are numbers, texts, dates
            (as text such as ``2024-05-31 14:00``, or as `Date`, in local time); null, undefined and
            NaN are missing. It returns

            - for classes: ``{label, probabilities}``, with an array of the probabilities of all
              classes;
            - for several labels: ``{labels, probabilities}``, two arrays, with 0 or 1 for each
              label in the first one;
            - for numbers: the number, or an array of them.

            With contributions, the result is an object, ``{prediction, contributions}`` for
            numbers. Contributions are an array with a number for each column or, for several
            labels, numbers or more than two classes, an array of such arrays.

            Probabilities are in the order of ``predict.classes``. Labels that are whole numbers
            too large for JavaScript are texts.

        Raises
        ------
        ValueError
            The name is not a valid name of a JavaScript function.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from bneuralt import BNeuralTClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = BNeuralTClassifier(max_epochs=20, random_state=0).fit(X, y)
        >>> print(model.to_javascript(name="iris").splitlines()[-1])
        if (typeof module !== "undefined" && module.exports) module.exports = { iris };
        """
        return self._export("javascript", path, name=name, contributions=contributions)

    def to_sql(
        self,
        path: str | PathLike[str] | None = None,
        *,
        dialect: str = "sqlite",
        of: Any = None,
        contributions: bool = False,
        table: str | None = None,
        create: bool = False,
    ) -> str:
        """Write the model as one SQL expression.

        Parameters
        ----------
        path : str or path-like, optional
            The file to write; by default, none is written.
        dialect : {"sqlite", "postgresql", "duckdb"}
            The database. SQLite needs its mathematical functions, which most builds have.
        of : optional
            Value of the expression. By default the predicted class or number. A label of the
            model: the probability of that class. For several numbers: the name of one of them
            (``y0``, ``y1``; ``q0.05`` for a quantile).
        contributions : bool
            Write the contributions of `explain` instead: an expression for each column, with the
            name ``contribution of COLUMN``, separated by commas. For classes and labels they are
            contributions to the score of `of` (with two classes: against the other one, by default
            that of the second). Not for forests that average probabilities.
        table : str, optional
            Name of a table from which the expression reads the numbers of values of categories,
            with an index: for columns of many values. By default they are in the expression.
        create : bool
            Write the statements that create and fill this table, instead of the expression.

        Returns
        -------
        str
            The expression. It refers to the columns by the names in training (``x0``, ``x1``, ...
            if there were none), as numbers, texts, and dates; NULL is a missing value. Names are
            quoted.

        Raises
        ------
        ValueError
            The dialect or `of` is unknown, a name cannot be written, the model is too large for
            the database, or it has no values for the table.

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
        return self._export(
            "sql",
            path,
            dialect=dialect,
            of=of,
            contributions=contributions,
            table=table,
            create=create,
        )

    def to_onnx(
        self,
        path: str | PathLike[str] | None = None,
        *,
        dtype: str = "double",
        contributions: bool = False,
    ) -> Any:
        """Convert the model to ONNX.

        Parameters
        ----------
        path : str or path-like, optional
            The file to write; by default, none is written.
        dtype : {"double", "float"}
            Precision of the trees. Inputs and outputs are always float32. Trees use unscaled
            features, so float loses digits where a column has a large mean and a small spread; use
            it for hardware without double precision.
        contributions : bool
            Whether the contributions of `explain` are one more output, ``contributions``, of shape
            (n_rows, n_columns) or, for several labels, numbers or more than two classes, (n_rows,
            n_outputs, n_columns). Not for forests that average probabilities.

        Returns
        -------
        onnx.ModelProto
            With the same outputs as scikit-learn's converters: ``label`` (int64 or string) and
            ``probabilities`` for classifiers, ``variable`` for regressors.

            A table of numbers is one float32 input ``X`` of shape (n_rows, n_columns), in which NaN
            is a missing value; categories that are numbers are columns like any other. If a column
            has texts or dates, each column that the model reads is an input with its name, of shape
            (n_rows, 1): float32 for numbers, string for categories, and for dates int64, seconds
            since 1970 as in NumPy's ``datetime64[s]``.

            Large and infinite numbers are clipped so that sums do not overflow and no probability
            is NaN.

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
        return self._export("onnx", path, dtype=dtype, contributions=contributions)

    def to_rust(
        self,
        path: str | PathLike[str] | None = None,
        *,
        name: str = "predict",
        contributions: bool = False,
    ) -> str:
        """Write the model as a Rust module without dependencies.

        Parameters
        ----------
        path : str or path-like, optional
            The file to write; by default, none is written.
        name : str
            Name of the Rust function.
        contributions : bool
            Whether predictions have the contributions of the columns; see `to_python`.

        Returns
        -------
        str
            Source code with a function of a slice of `Cell`: numbers, texts as a CSV file has them,
            or missing values. It returns a `Prediction` with `values` (probabilities or numbers)
            and, for classes, `class` and `label`; or the text of an error.

        Raises
        ------
        ValueError
            The name is not a valid name of a Rust function, or the model is too large.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from bneuralt import BNeuralTClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = BNeuralTClassifier(max_epochs=20, random_state=0).fit(X, y)
        >>> "pub fn predict(row: &[Cell]) -> Result<Prediction, String>" in model.to_rust()
        True
        """
        return self._export("rust", path, name=name, contributions=contributions)

    def to_go(
        self,
        path: str | PathLike[str] | None = None,
        *,
        name: str = "Predict",
        contributions: bool = False,
    ) -> str:
        """Write the model as a Go package without dependencies.

        Parameters
        ----------
        path : str or path-like, optional
            The file to write; by default, none is written.
        name : str
            Name of the Go function.
        contributions : bool
            Whether predictions have the contributions of the columns; see `to_python`.

        Returns
        -------
        str
            Source code with a function of the values of a row: numbers, texts, nil for missing
            values, or `time.Time`. It returns a `Prediction` with `Values` (probabilities or
            numbers) and, for classes, `Class` and `Label`; and an error.

        Raises
        ------
        ValueError
            The name is not a valid name of a Go function, or the model is too large.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from bneuralt import BNeuralTClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = BNeuralTClassifier(max_epochs=20, random_state=0).fit(X, y)
        >>> "func Predict(row ...any) (result Prediction, err error)" in model.to_go()
        True
        """
        return self._export("go", path, name=name, contributions=contributions)

    def to_java(
        self,
        path: str | PathLike[str] | None = None,
        *,
        name: str = "Model",
        contributions: bool = False,
    ) -> str:
        """Write the model as a Java class without dependencies.

        Parameters
        ----------
        path : str or path-like, optional
            The file to write; by default, none is written.
        name : str
            Name of the Java class.
        contributions : bool
            Whether predictions have the contributions of the columns; see `to_python`.

        Returns
        -------
        str
            Source code, for Java 16 and newer, with a static method `predict` of the values of a
            row: numbers, texts, or null for missing values. It returns a `Prediction` with `values`
            (probabilities or numbers) and, for classes, `position` and `label`. A value that cannot
            be read is an `IllegalArgumentException`.

        Raises
        ------
        ValueError
            The name is not a valid name of a Java class, or the model is too large.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from bneuralt import BNeuralTClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = BNeuralTClassifier(max_epochs=20, random_state=0).fit(X, y)
        >>> "public static Prediction predict(Object... row)" in model.to_java()
        True
        """
        return self._export("java", path, name=name, contributions=contributions)

    def to_excel(
        self, path: str | PathLike[str] | None = None, *, contributions: bool = False
    ) -> Any:
        """Write the model as a workbook, for Excel and LibreOffice.

        The first sheet is a form: the value of each column is entered there, and predictions appear
        below. The second sheet has one formula for each value that the model computes.

        Parameters
        ----------
        path : str or path-like, optional
            The file to write; by default, none is written.
        contributions : bool
            Whether the form has the contributions of the columns; see `to_python`.

        Returns
        -------
        openpyxl.Workbook
            Numbers and dates are numbers and dates of the spreadsheet; a text in their place is a
            problem that the form names. An empty cell is a missing value.

        Raises
        ------
        ImportError
            The package openpyxl is not installed.
        ValueError
            A text is too long for a formula.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from bneuralt import BNeuralTClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = BNeuralTClassifier(max_epochs=20, random_state=0).fit(X, y)
        >>> model.to_excel().sheetnames
        ['form', 'model']
        """
        return self._export("excel", path, contributions=contributions)

    def to_torch(self, *, dtype: Any = None) -> Any:
        """Convert the model to a PyTorch module with trainable weights.

        Parameters
        ----------
        dtype : torch.dtype, optional
            Type of the weights; by default that of the trees.

        Returns
        -------
        torch.nn.Module
            Called with inputs of shape (n_rows, n_inputs), it returns the result of `predict_proba`
            of a classifier or `predict` of a regressor. Its method ``scores`` returns the outputs
            of all trees, of shape (n_trees, n_rows, n_outputs), from which losses such as
            cross-entropy are computed. ``encode`` turns a table with categories, dates and missing
            values into inputs; a table of numbers without missing values can be used directly.

            Each tree is one parameter, the vector `NeuralTree.parameters`. `bneuralt.from_torch`
            converts the module to an estimator.

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

        module = to_torch(self._raw(), dtype=dtype)
        module.estimator = self
        return module
