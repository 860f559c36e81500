"""Fitted models as C99 source code."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from bneuralt import __version__
from bneuralt._typing import Array
from bneuralt.export.arithmetic import FORMATS
from bneuralt.export.c_features import c_features, category_function, declarations
from bneuralt.export.c_fixed import FixedCode
from bneuralt.export.c_main import main_program
from bneuralt.export.c_real import RealCode
from bneuralt.export.c_text import c_name, check_name, comment
from bneuralt.export.plan import Plan, make_plan
from bneuralt.export.quantized import quantize
from bneuralt.files import write_together

__all__ = ["DTYPES", "STYLES", "c_files", "export_c"]

DTYPES = ("double", "float", *FORMATS)
STYLES = ("auto", "tables", "code")

#: Trees with no more nodes than this are written out with style "auto", by kind of numbers.
FEW_NODES = {"real": 300, "integer": 10}
#: Compilers take too long for functions of more nodes than this.
MOST_WRITTEN_OUT = 20_000
#: Measured without data, integer models are compared with their originals on so many random rows.
N_RANDOM_ROWS = 1000


def export_c(
    model: Any,
    path: str | PathLike[str],
    name: str | None = None,
    dtype: str = "double",
    *,
    style: str = "auto",
    libm: bool = True,
    main: bool = False,
    X: Any = None,
    y: Any = None,
) -> list[Path]:
    """Write a fitted model as C99 source code.

    The code has no dependency but ``exp`` of ``<math.h>`` (integer code has none), allocates no
    memory, and includes the encoding of the table: missing values, categories and dates. Integer
    code computes the same whole numbers as ``quantize(model, dtype)``, and the comment at its top
    states a bound on the difference to `model`, the difference that was seen, and its size.

    Parameters
    ----------
    model : estimator
        A fitted tree or forest of this library.
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
        Whether ``exp`` of ``<math.h>`` is used; otherwise the code has a function of its own.
    main : bool
        Whether to write a program ``NAME_main.c``, too, which predicts the rows of a CSV file.
    X, y : array-like, optional
        Rows on which the loss of accuracy of integer code is measured. Without them, it is compared
        with `model` on random rows.

    Returns
    -------
    list of pathlib.Path
        The files that were written: all of them, or none if there is an error.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from bneuralt import BNeuralTClassifier, export_c
    >>> iris = load_iris(as_frame=True)
    >>> clf = BNeuralTClassifier(random_state=0).fit(iris.data, iris.target)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = export_c(clf, Path(folder) / "iris.h", dtype="int8")
    ...     print("int iris_predict(const iris_input *x)" in files[0].read_text())
    True
    """
    files = c_files(model, path, name, dtype, style=style, libm=libm, main=main, X=X, y=y)
    write_together(files)
    return list(files)


def c_files(
    model: Any,
    path: str | PathLike[str],
    name: str | None = None,
    dtype: str = "double",
    *,
    style: str = "auto",
    libm: bool = True,
    main: bool = False,
    X: Any = None,
    y: Any = None,
) -> dict[Path, str]:
    """Return the files that `export_c` writes, as a dict from path to content."""
    plan = make_plan(model)
    path = Path(path)
    if path.suffix not in (".h", ".c"):
        raise ValueError(f"path={os.fspath(path)!r} must end in .h or .c")
    for what, value, allowed in (("dtype", dtype, DTYPES), ("style", style, STYLES)):
        if value not in allowed:
            raise ValueError(f"{what}={value!r} must be one of {', '.join(map(repr, allowed))}")
    if (X is None) != (y is None):
        raise ValueError("X and y must be given together, or neither of them")
    name = c_name(path.stem) if name is None else check_name(name)
    is_header = path.suffix == ".h"
    features = c_features(plan)
    public = "static inline " if is_header else ""
    is_integer = dtype in FORMATS
    straight = _is_straight(plan, style, is_integer)
    facts: list[str] = []
    includes = ["<stdint.h>"] if is_integer else []
    code: FixedCode | RealCode
    if is_integer:
        rounded = quantize(model, dtype)
        code = FixedCode(rounded.integer_model_, features, name, straight, public)
        facts = _facts(model, rounded, code, X, y)
    else:
        code = RealCode(plan, features, name, straight, dtype == "float", libm, public)
    about = [
        f"{type(model).__name__}, {_count(plan)}, as C99 code with {dtype} arithmetic.",
        f"Generated by bneuralt {__version__}.",
        *facts,
    ]
    guard = f"{name.upper()}_H"
    shown = [f"{comment(about)}\n{declaration};" for declaration, about in code.prototypes()]
    head = [
        comment("\n".join(about)),
        f"#ifndef {guard}\n#define {guard}\n",
        *(f"#include {header}\n" for header in includes),
        code.types(),
        declarations(plan, features, name),
        category_function(features, name),
        code.helpers(),
    ]
    own_includes = [] if is_integer else [f"#include {h}" for h in code.includes()]  # type: ignore[union-attr]
    tail = ["#ifdef __cplusplus\n}\n#endif\n", "#endif"]
    begin = '#ifdef __cplusplus\nextern "C" {\n#endif\n'
    files: dict[Path, str] = {}
    header_path = path.with_suffix(".h")
    if is_header:
        declared = "\n\n".join(
            f"{comment(about)}\nstatic inline {d};" for d, about in code.prototypes()
        )
        parts = [*head, *own_includes, "", begin, declared, "", code.source(), *tail]
        files[path] = _joined(parts)
    else:
        files[header_path] = _joined([*head, begin, "\n\n".join(shown), "", *tail])
        files[path] = _joined(
            [
                comment("Generated by bneuralt; the header says what this is."),
                f'#include "{header_path.name}"',
                *own_includes,
                "",
                code.source(),
            ]
        )
    if main:
        program = main_program(plan, features, name, header_path.name, is_integer)
        files[path.with_name(f"{path.stem}_main.c")] = program
    return files


def _joined(parts: list[str]) -> str:
    return "\n".join(part for part in parts if part is not None).rstrip() + "\n"


def _is_straight(plan: Plan, style: str, is_integer: bool) -> bool:
    n_nodes = sum(tree.parent.size for tree in plan.trees)
    if style == "auto":
        return n_nodes <= FEW_NODES["integer" if is_integer else "real"]
    if style == "code" and n_nodes > MOST_WRITTEN_OUT:
        raise ValueError(
            f"style='code' is for models of up to {MOST_WRITTEN_OUT:,} function nodes, this one "
            f"has {n_nodes:,}: use style='tables'"
        )
    return style == "code"


def _count(plan: Plan) -> str:
    n_weights = sum(tree.n_parameters for tree in plan.trees)
    n = len(plan.trees)
    return f"{n_weights:,} weights" + (f" in {n:,} trees" if n > 1 else "")


# -- what the comment says about integers --------------------------------------------------


def _facts(model: Any, rounded: Any, code: FixedCode, X: Any, y: Any) -> list[str]:
    """Return what is known about the differences between an integer model and its original."""
    integer, plan = rounded.integer_model_, rounded.integer_model_.plan
    what = {"classes": "probability", "labels": "probability", "numbers": "prediction"}[plan.task]
    if plan.combine == "exp":
        what = "logarithm of a prediction"
    scores = (
        ""
        if plan.task == "numbers"
        else (f" (an output of a tree: {max(tree.bound.max() for tree in integer.trees):.3g})")
    )
    size = code.n_table_bytes
    facts = [
        "",
        f"Size: {size:,} bytes of tables" + (", and statements." if code.straight else "."),
        f"Guaranteed over the range of the training rows: no {what} differs by more than "
        f"{integer.bound.max():.3g} from that of the model with real weights{scores}.",
    ]
    inputs = _random_inputs(integer)
    outputs = integer.outputs(integer.encode(inputs))
    exact = plan.outputs(inputs)
    found, expected = integer.values(outputs), plan.combined(exact)
    if plan.combine == "exp":
        found, expected = np.log(found), np.log(expected)
    seen = float(np.abs(found - expected).max())
    text = f"Seen on {N_RANDOM_ROWS:,} random rows of that range: {seen:.3g} at most"
    if plan.task != "numbers":
        same = np.mean(integer.decided(outputs) == plan.decided(exact))
        text += f"; {100 * same:.1f} % of the predictions are the same"
    facts.append(text + ".")
    if X is not None:
        before, after = model.score(X, y), rounded.score(X, y)
        score = "Accuracy" if plan.task != "numbers" else "Score"
        facts.append(
            f"{score} on {len(X):,} rows: {before:.4f} with real weights, {after:.4f} with "
            f"{code.format.name} (a loss of {100 * (before - after):.2f} points)."
        )
    return facts


def _random_inputs(integer: Any) -> Array:
    """Return random rows of the training range."""
    rng = np.random.default_rng(0)
    units = integer.inputs
    shape = (N_RANDOM_ROWS, units.low.size)
    rows = units.low + (units.high - units.low) * rng.random(shape)
    ends = np.where(rng.random(shape) < 0.5, units.low, units.high)
    rows[: N_RANDOM_ROWS // 2] = ends[: N_RANDOM_ROWS // 2]
    for group in np.unique(units.group[units.group >= 0]):  # categories: one of the entries
        members = np.flatnonzero(units.group == group)
        first = 0 if units.group_size[members[0]] else -1
        chosen = rng.integers(first, members.size, N_RANDOM_ROWS)
        rows[:, members] = chosen[:, np.newaxis] == np.arange(members.size)
    return rows
