"""Exit codes, and the exception that ends the program with one."""

from __future__ import annotations

OK = 0
USAGE = 2  # argparse's own
BAD_DATA = 3
BAD_MODEL = 4
CANNOT_WRITE = 5
INTERRUPTED = 130  # 128 + SIGINT, as shells report it

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
    """Ends the program with a message and an exit code, without a traceback."""

    def __init__(self, message: str, code: int = USAGE) -> None:
        super().__init__(message)
        self.code = code
