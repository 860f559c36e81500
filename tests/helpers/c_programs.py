"""Compile generated C code and run it on rows."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np

from bneuralt.export.c import c_files
from bneuralt.export.c.features import CRow
from bneuralt.export.integer import IntegerModel
from bneuralt.expressions.operations import DATE_PARTS
from bneuralt.model import Model
from bneuralt.tables.columns import Column, Frame

FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"]
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]


def c_rows(model, frame, is_integer=False):
    """The rows of a table as the C code has them: numbers, positions of categories, date parts."""
    columns = []
    for feature in CRow(model, is_integer).features:
        column = frame.columns[feature.column]
        if feature.is_category:
            text = column.as_text()
            position = [
                feature.texts.index(word) if word in feature.texts else -1 for word in text.texts
            ]
            columns.append(np.array([*position, np.nan])[text.values])
        elif feature.reads in DATE_PARTS:
            part = DATE_PARTS[feature.reads]
            columns.append(np.where(column.is_missing, np.nan, part(column.values)))
        else:
            columns.append(column.values)
    return np.stack(columns, axis=1)


def as_float32(frame):
    """The table with numbers that are the same in float."""
    return Frame(
        [
            Column("number", np.clip(c.values, -1e30, 1e30).astype(np.float32).astype(np.float64))
            if c.kind == "number"
            else c
            for c in frame.columns
        ],
        frame.names,
    )


def run_models(folder: Path, jobs, compiler="gcc", flags=("-O1",), libm=True):
    """What the C code of models returns for rows: for each, predictions and probabilities.

    Each job is (source, dtype, style, rows as `c_rows` makes them); a source is a fitted estimator,
    a `Model` or an `IntegerModel`. All of them are compiled together.
    """
    folder.mkdir(parents=True, exist_ok=True)
    includes, cases, data, models = [], [], [], []
    for i, (source, dtype, style, rows) in enumerate(jobs):
        options = {"dtype": dtype, "style": style, "libm": libm}
        if isinstance(source, IntegerModel):
            model, options["integers"] = source.model, source
        else:
            model = source if isinstance(source, Model) else source.model_
        _, files = c_files(model, folder / f"m{i}.h", **options)
        for path, text in files.items():
            path.write_text(text)
            includes.append(f'#include "{path.name}"')
        models.append(model)
        cases.append(_case(i, model, dtype))
        data += [np.array([len(rows)], dtype=np.float64), np.asarray(rows, dtype=np.float64)]
    body = "\n".join([*includes, "#include <stdio.h>", *cases])
    calls = "\n".join(f"    run{i}(in, out);" for i in range(len(jobs)))
    (folder / "program.c").write_text(
        f"{body}\nint main(int argc, char **argv)\n{{\n"
        '    FILE *in = fopen(argv[argc - 2], "rb"), *out = fopen(argv[argc - 1], "wb");\n'
        f"{calls}\n    fclose(in);\n    return fclose(out);\n}}\n"
    )
    (folder / "rows").write_bytes(b"".join(part.tobytes() for part in data))
    command = [compiler, *FLAGS, *flags, "program.c", "-o", "program", *(["-lm"] if libm else [])]
    subprocess.run(command, cwd=folder, check=True)
    subprocess.run(["./program", "rows", "results"], cwd=folder, check=True)
    flat = np.frombuffer((folder / "results").read_bytes())
    results, at = [], 0
    for model, (*_, rows) in zip(models, jobs, strict=True):
        k = model.n_outputs
        width = {"classes": 1 + k, "labels": 2 * k, "numbers": k}[model.task]
        table = flat[at : at + len(rows) * width].reshape(len(rows), width)
        at += table.size
        n = width - (k if model.task != "numbers" else 0)
        results.append((table[:, :n], table[:, n:]))
    assert at == flat.size
    return results


def _case(i, model, dtype):
    """A C function that reads rows and writes predictions, all as doubles."""
    k, integer = model.n_outputs, dtype.startswith("int")
    value = "int32_t" if integer else dtype
    share = "uint16_t" if integer else dtype
    byte = "uint8_t" if integer else "unsigned char"
    if model.task == "classes":
        n, statement = 1, f"result[0] = m{i}_predict(x);"
        before = ""
    elif model.task == "labels":
        n, before = k, f"    {byte} y[{k}];\n"
        statement = f"m{i}_predict(x, y);\n        for (k = 0; k < {k}; k++) result[k] = y[k];"
    elif k == 1:
        n, before, statement = 1, "", f"result[0] = (double)m{i}_predict(x);"
    else:
        n, before = k, f"    {value} y[{k}];\n"
        statement = (
            f"m{i}_predict(x, y);\n        for (k = 0; k < {k}; k++) result[k] = (double)y[k];"
        )
    if model.task != "numbers":
        before += f"    {share} p[{k}];\n"
        statement += (
            f"\n        m{i}_predict_proba(x, p);\n"
            f"        for (k = 0; k < {k}; k++) result[{n} + k] = (double)p[k];"
        )
    width = n + (k if model.task != "numbers" else 0)
    convert = f"m{i}_quantize(k, row[k])" if integer else f"({dtype})row[k]"
    upper = f"M{i}_N_FEATURES"
    return f"""
static void run{i}(FILE *in, FILE *out)
{{
    double n, row[{upper}], result[{width}];
    m{i}_input x[{upper}];
    int k;
{before}    if (fread(&n, sizeof n, 1, in) != 1) return;
    for (; n > 0; n--) {{
        if (fread(row, sizeof row, 1, in) != 1) return;
        for (k = 0; k < {upper}; k++) x[k] = {convert};
        {statement}
        fwrite(result, sizeof result, 1, out);
    }}
}}"""
