"""The table of export targets of the command `bneuralt export --to`."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from bneuralt import __version__
from bneuralt.files import write_together

if TYPE_CHECKING:  # the help of the command imports this module, and should be fast
    from bneuralt.model import Model

__all__ = ["TARGETS", "Option", "Target"]


@dataclass(frozen=True)
class Option:
    """A parameter of an export function that the command line offers.

    Attributes
    ----------
    name : str
        Name of the parameter, and of the option after two dashes.
    help : str
    choices : tuple of str
        The allowed values; empty if any value is allowed.
    metavar : str
        Placeholder of the value in the help.
    sets : bool or None
        The value of an option without an argument. An option that sets False begins with ``--no-``.
    """

    name: str
    help: str
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    sets: bool | None = None

    @property
    def flag(self) -> str:
        """The option as it is written on the command line."""
        return f"--{'no-' * (self.sets is False)}{self.name}"


@dataclass(frozen=True)
class Target:
    """A language or program for which models can be written.

    Attributes
    ----------
    name : str
        Argument of ``--to``; the method of estimators is ``to_`` and the name.
    function : str
        Module in this package and name of the function, which takes a model and the options as
        keywords and returns the content of the file.
    description : str
    suffix : str
        Usual suffix of the file.
    options : tuple of Option
    header : str
        First line of the file, for content without a note on its origin.
    makes_files : bool
        Whether the function takes the path as well and returns a dict, content of each file.
    """

    name: str
    function: str
    description: str
    suffix: str
    options: tuple[Option, ...] = ()
    header: str = ""
    makes_files: bool = False

    def files(
        self, model: Model, path: str | PathLike[str], **options: Any
    ) -> dict[Any, str | bytes]:
        """Return the content of each file to write, by path.

        Parameters
        ----------
        model : Model
        path : str or path-like
            The file, or one of several.
        **options
            Options of the target.

        Examples
        --------
        >>> from bneuralt import BNeuralTRegressor
        >>> model = BNeuralTRegressor(max_epochs=1, random_state=0).fit([[0.0], [1.0]], [0.0, 1.0])
        >>> list(TARGETS["python"].files(model.model_, "model.py", name="risk"))
        ['model.py']
        """
        return self._exported(model, path, options)[1]

    def export(self, model: Model, path: str | PathLike[str] | None = None, **options: Any) -> Any:
        """Return a model as text or object; write it to a file if there is a path.

        Files are written all or none, and none if there is an error.
        """
        content, files = self._exported(model, path, options)
        if path is not None:
            write_together(files)
        return content

    def _exported(
        self, model: Model, path: str | PathLike[str] | None, options: dict[str, Any]
    ) -> tuple[Any, dict[Any, str | bytes]]:
        """Return the result of the function, and the content of each file."""
        model = model.in_raw_units()
        module, name = self.function.split(":")
        function = getattr(importlib.import_module(f"bneuralt.export.{module}"), name)
        if self.makes_files:
            content, files = function(model, path, **options)
            return content, files
        content = function(model, **options)
        if isinstance(content, str):
            return content, {path: self.header + content}
        return content, {path: _file_of(content)}


def _file_of(content: Any) -> bytes:
    """Return a model of ONNX, or a workbook, as the content of a file."""
    if hasattr(content, "SerializeToString"):
        stored: bytes = content.SerializeToString()
        return stored
    from bneuralt.export.excel import file_of

    return file_of(content)


_FUNCTION_NAME = Option("name", "name of the function (default: predict)", metavar="NAME")
_CONTRIBUTIONS = Option(
    "contributions", "return the contributions of the columns to the prediction as well", sets=True
)

_ALL = (
    Target(
        "c",
        "c:c_files",
        "C99 source code, with floating-point or integer arithmetic",
        ".h",
        (
            Option("name", "prefix of all names (default: the name of the file)", metavar="NAME"),
            Option(
                "dtype",
                "type of weights and values; int16 and int8 compute with whole numbers only "
                "(default: double)",
                choices=("double", "float", "int16", "int8"),
            ),
            Option(
                "style",
                "tables that a loop reads, or statements (code), which are faster and larger "
                "(default: auto)",
                choices=("auto", "tables", "code"),
            ),
            Option("libm", "use functions in the code instead of those of <math.h>", sets=False),
            Option("main", "add a program that predicts the rows of a CSV file", sets=True),
            Option(
                "contributions",
                "add a function that attributes predictions to features (double and float only)",
                sets=True,
            ),
            Option(
                "learning",
                "add a function that goes on learning, by gradient descent or RMSprop (one tree, "
                "double and float only)",
                choices=("sgd", "rmsprop"),
            ),
            Option(
                "learns",
                "the weights that learn: all of them, those of the outputs, or the biases "
                "(default: all)",
                choices=("all", "outputs", "biases"),
            ),
            Option(
                "data",
                "a table with the target, to measure the loss of accuracy of int16 and int8",
                metavar="DATA.csv",
            ),
        ),
        makes_files=True,
    ),
    Target(
        "onnx",
        "onnx:to_onnx",
        "ONNX, for onnxruntime and other runtimes",
        ".onnx",
        (
            Option(
                "dtype",
                "numbers that the trees compute with; float for hardware that has nothing else "
                "(default: double)",
                choices=("double", "float"),
            ),
            _CONTRIBUTIONS,
        ),
    ),
    Target(
        "sql",
        "sql:to_sql",
        "one SQL expression for SQLite, PostgreSQL or DuckDB",
        ".sql",
        (
            Option(
                "dialect",
                "the database (default: sqlite)",
                choices=("sqlite", "postgresql", "duckdb"),
            ),
            Option(
                "of",
                "compute the probability of this class, or this one of several numbers "
                "(default: the predicted class or number)",
                metavar="OUTPUT",
            ),
            Option(
                "contributions",
                "write the contributions of the columns to the prediction instead, as expressions "
                "with names",
                sets=True,
            ),
            Option(
                "table",
                "read the numbers of values of categories from this table, for columns of many "
                "values (default: they are in the expression)",
                metavar="NAME",
            ),
            Option(
                "create", "write the statements that create and fill this table instead", sets=True
            ),
        ),
        header=f"/* Written by bneuralt {__version__}. */\n",
    ),
    Target(
        "python",
        "python:to_python",
        "one Python function without imports",
        ".py",
        (_FUNCTION_NAME, _CONTRIBUTIONS),
    ),
    Target(
        "javascript",
        "javascript:to_javascript",
        "one JavaScript function without dependencies",
        ".js",
        (_FUNCTION_NAME, _CONTRIBUTIONS),
    ),
    Target(
        "rust",
        "rust:to_rust",
        "a Rust module without dependencies",
        ".rs",
        (_FUNCTION_NAME, _CONTRIBUTIONS),
    ),
    Target(
        "go",
        "go:to_go",
        "a Go package without dependencies",
        ".go",
        (Option("name", "name of the function (default: Predict)", metavar="NAME"), _CONTRIBUTIONS),
    ),
    Target(
        "java",
        "java:to_java",
        "a Java class without dependencies",
        ".java",
        (Option("name", "name of the class (default: Model)", metavar="NAME"), _CONTRIBUTIONS),
    ),
    Target(
        "excel",
        "excel:to_excel",
        "a workbook with a form and one formula for each value",
        ".xlsx",
        (_CONTRIBUTIONS,),
    ),
)

#: Export targets by name.
TARGETS: dict[str, Target] = {target.name: target for target in _ALL}
