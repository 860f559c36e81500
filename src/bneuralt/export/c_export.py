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
from bneuralt.export.c_contributions import contributions_code, contributions_prototype
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
    contributions: bool = False,
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
    contributions : bool
        Whether to add a function ``NAME_contributions``, which attributes the prediction of a row
        to its features as `explain` does. For regressors and single trees that classify, with
        ``double`` and ``float``.
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
    options: dict[str, Any] = {"style": style, "libm": libm, "main": main}
    options |= {"contributions": contributions, "X": X, "y": y}
    files = c_files(model, path, name, dtype, **options)
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
    contributions: bool = False,
    X: Any = None,
    y: Any = None,
) -> dict[Path, str]:
    """Return the files that `export_c` writes, as a dict from path to content."""
    plan, path = make_plan(model), Path(path)
    _check_path(path)
    for what, value, allowed in (("dtype", dtype, DTYPES), ("style", style, STYLES)):
        if value not in allowed:
            raise ValueError(f"{what}={value!r} must be one of {', '.join(map(repr, allowed))}")
    if (X is None) != (y is None):
        raise ValueError("X and y must be given together, or neither of them")
    name = c_name(path.stem) if name is None else check_name(name)
    features = c_features(plan)
    is_header, is_integer = path.suffix == ".h", dtype in FORMATS
    public = "static inline " if is_header else ""
    straight = _is_straight(plan, style, is_integer)
    about = [
        f"{type(model).__name__}, {_count(plan)}, as C99 code with {dtype} arithmetic.",
        f"Generated by bneuralt {__version__}.",
    ]
    code: FixedCode | RealCode
    if is_integer:
        rounded = quantize(model, dtype, X if plan.input_ranges() is None else None)
        code = FixedCode(rounded.integer_model_, features, name, straight, public)
        about += _facts(model, rounded, code, X, y)
    else:
        code = RealCode(plan, features, name, straight, dtype == "float", libm, public)
    prototypes, source, includes = code.prototypes(), code.source(), code.source_includes()
    if contributions:
        if isinstance(code, FixedCode):
            raise ValueError(f"contributions are for dtype='double' and 'float', not {dtype!r}")
        prototypes.append(contributions_prototype(code))
        source += "\n" + contributions_code(code)
        includes = sorted({*includes, "<stdint.h>"})
    guard, header = f"{name.upper()}_H", path.with_suffix(".h")
    declared = [f"{comment(text)}\n{public}{line};" for line, text in prototypes]
    top = [
        comment("\n".join(about)),
        f"#ifndef {guard}\n#define {guard}\n",
        *_includes(code.header_includes()),
        code.types(),
        declarations(plan, features, name),
        category_function(features, name),
        code.helpers(),
        *(_includes(includes) if is_header else ()),
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        "\n\n".join(declared),
        "",
        *([source] if is_header else ()),
        "#ifdef __cplusplus\n}\n#endif\n",
        "#endif",
    ]
    files = {header: "\n".join(top) + "\n"}
    if not is_header:
        generated = comment("Generated by bneuralt; the header says what this is.")
        own = f'#include "{header.name}"'
        files[path] = "\n".join([generated, own, *_includes(includes), source])
    if main:
        program = main_program(plan, features, name, header.name, is_integer)
        files[path.with_name(f"{path.stem}_main.c")] = program
    return files


def _check_path(path: Path) -> None:
    if path.suffix not in (".h", ".c"):
        raise ValueError(f"path={os.fspath(path)!r} must end in .h or .c")
    if not path.name.isprintable() or set(path.name) & set('"\\<>'):
        raise ValueError(
            f"path={os.fspath(path)!r} has a character that the name of a C header cannot have"
        )


def _includes(headers: list[str]) -> list[str]:
    return [f"#include {header}" for header in headers] + [""] * bool(headers)


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
