"""``python -m bneuralt`` is the `bneuralt` program."""

import sys

from bneuralt.cli.program import main

sys.exit(main())
