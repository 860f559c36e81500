"""``python -m bneuralt`` is the `bneuralt` program."""

import sys

from bneuralt.cli import main

sys.exit(main())
