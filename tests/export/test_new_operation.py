"""An operation that is added takes one entry in the table of each printer, and nothing else."""

import subprocess

import numpy as np
import pandas as pd
import pytest

from bneuralt.drawing import notation
from bneuralt.export import excel, go, java, javascript, python, rust, sql
from bneuralt.export.c import c_files, mathematics
from bneuralt.export.excel import to_excel
from bneuralt.export.onnx import operation_nodes, to_onnx
from bneuralt.expressions import OUTPUTS, Expression, operations, variable
from tests.export.test_translation import assert_agrees, described, identity, normal_rows
from tests.helpers.runners import RUNNERS, available

SINE = Expression("sine", (0.5 * OUTPUTS,))

#: The table of each printer, and its entry.
ENTRIES = {
    "python": (python.TEMPLATES, ("atom", "__import__('math').sin({0})")),
    "javascript": (javascript.TEMPLATES, ("atom", "Math.sin({0})")),
    "chromium": (javascript.TEMPLATES, ("atom", "Math.sin({0})")),
    "rust": (rust.TEMPLATES, ("atom", "f64::sin({0})")),
    "go": (go.TEMPLATES, ("atom", "math.Sin({0})")),
    "java": (java.TEMPLATES, ("atom", "Math.sin({0})")),
    **{name: (d.templates, ("atom", "SIN({0})")) for name, d in sql.DIALECTS.items()},
}


@pytest.fixture
def model(monkeypatch):
    """A model with an operation that is not one of ours."""
    monkeypatch.setitem(operations.OPERATIONS, "sine", operations.Operation(np.sin))
    return described(identity(3), SINE)


@pytest.mark.parametrize("name", ENTRIES)
def test_languages(name, model, monkeypatch):
    with available(name) as runner:
        with pytest.raises(ValueError, match="has no template for the operation 'sine'"):
            runner.predict(model, pd.DataFrame(normal_rows(0), columns=["x0", "x1", "x2"]))
        table, entry = ENTRIES[name]
        monkeypatch.setitem(table, "sine", entry)
        assert_agrees(runner, model, normal_rows(0), rtol=1e-9)


def test_every_language_is_tried():
    assert ENTRIES.keys() == RUNNERS.keys()


def test_c(model, monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="CMath has no template for the operation 'sine'"):
        c_files(model)
    monkeypatch.setitem(mathematics._FUNCTIONS, "sine", ("x", "sin(x)"))
    text, _ = c_files(model)
    (tmp_path / "model.h").write_text(f"#include <math.h>\n{text}")
    (tmp_path / "main.c").write_text(
        '#include "model.h"\n#include <stdio.h>\nint main(void)\n{\n'
        "    const double x[3] = {1, 2, 3};\n    double y[3];\n    model_predict(x, y);\n"
        '    return printf("%.17g %.17g %.17g", y[0], y[1], y[2]) < 0;\n}\n'
    )
    subprocess.run(["gcc", "main.c", "-o", "main", "-lm"], cwd=tmp_path, check=True)
    done = subprocess.run(["./main"], cwd=tmp_path, check=True, capture_output=True)
    np.testing.assert_allclose(np.array(done.stdout.split(), float), np.sin([0.5, 1.0, 1.5]))


def test_onnx(model, monkeypatch):
    pytest.importorskip("onnx")
    with pytest.raises(ValueError, match="ONNX has no operator for the operation 'sine'"):
        to_onnx(model)
    for table in (operation_nodes.OPERATORS, operation_nodes.EXACT_OPERATORS):
        monkeypatch.setitem(table, "sine", "Sin")
    assert "Sin" in {node.op_type for node in to_onnx(model).graph.node}


def test_excel(model, monkeypatch):
    pytest.importorskip("openpyxl")
    monkeypatch.setitem(excel.TEMPLATES, "sine", ("atom", "SIN({0})"))
    formulas = [row[1].value for row in to_excel(model)["model"].iter_rows(min_row=2)]
    assert sum("SIN(" in formula for formula in formulas) == 3


@pytest.mark.parametrize("kind", [notation.TextNotation, notation.LatexNotation])
def test_formulas(kind, model, monkeypatch):
    monkeypatch.setitem(kind.templates, "sine", notation.Template("sin({})"))
    assert kind().spelled(Expression("sine", (variable("z"),))).text == "sin(z)"
