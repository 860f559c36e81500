"""Changes that no test of behaviour can notice, with the reason; see `tests.mutants`."""

#: The end of the file's name, the line after the change, and why it cannot matter.
UNNOTICEABLE: tuple[tuple[str, str, str], ...] = ()
