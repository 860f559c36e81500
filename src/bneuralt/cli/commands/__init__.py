"""The commands of the program, one module each.

A module has ``add_arguments(parser)`` and ``run(args)``, which returns an exit code or None. Heavy
imports wait until `run`, so that ``bneuralt --help`` answers at once.
"""
