"""The commands of the program, one module each.

Each module has ``add_arguments(parser)`` and ``run(args)``, which returns an exit code or None. Its
docstring is the description that ``--help`` shows. NumPy and everything that needs it are imported
in `run`, so that ``--help`` is fast.
"""
