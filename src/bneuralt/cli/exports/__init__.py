"""The targets of `bneuralt export --to`, one module each.

A module has the functions ``add_arguments(group)``, which adds the options of the target, and
``export(model, args)``, which returns the files to write: a dict from path to content. `OPTIONS`
has the options whose names are not those of the parameters that they set.
"""

#: Name of the target, which is the name of its module, and what it writes.
TARGETS = {
    "c": "C99 source code, with floating-point or integer arithmetic",
    "onnx": "ONNX, for onnxruntime and other runtimes",
    "sql": "one SQL expression for SQLite, PostgreSQL or DuckDB",
    "python": "one Python function without imports",
}
