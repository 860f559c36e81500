"""Run the program `bneuralt` with ``python -m bneuralt``."""

import sys

from bneuralt.cli.program import main

sys.exit(main())
