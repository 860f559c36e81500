"""Exit codes of the program, and the exception that has one."""

from __future__ import annotations

OK = 0
USAGE = 2  # also argparse's
BAD_DATA = 3
BAD_MODEL = 4
CANNOT_WRITE = 5
INTERRUPTED = 130  # 128 + SIGINT, as in shells

EXIT_CODES = """\
exit codes:
  0    done
  1    a fault of the program: please report it, with the lines it printed
  2    the command line is wrong
  3    the data cannot be used
  4    the model file cannot be used
  5    the result cannot be written
  130  interrupted; nothing was written
"""


class CommandError(Exception):
    """An error that ends the program with a message and an exit code, without a traceback.

    Parameters
    ----------
    message : str
        The problem and its remedy.
    code : int
        The exit code.
    """

    def __init__(self, message: str, code: int = USAGE) -> None:
        super().__init__(message)
        self.code = code
