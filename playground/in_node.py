"""The playground without a browser: its modules in Node, for tests and measurements."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from playground.build import ROOT, compile_core, write_modules

__all__ = ["FOLDER", "ask", "prepare"]

FOLDER = ROOT / "build/playground"


def prepare() -> None:
    """Write the modules, and compile the core if it is older than its sources."""
    write_modules(FOLDER)
    compile_core(FOLDER / "playground.wasm")


def ask(
    table: str | bytes, target: str, wants: Sequence[str] = ("inputs", "plan"), **wishes: Any
) -> dict[str, Any]:
    """Return what the playground makes of a table.

    Parameters
    ----------
    table : str or bytes
        Text or bytes of a CSV file.
    target : str
        Name of the column to predict.
    wants : sequence of str
        "inputs", "plan" (the settings) or "model".
    **wishes
        Those of `session.js`; by default no rows are held out.
    """
    content = {"bytes": list(table)} if isinstance(table, bytes) else {"text": table}
    wishes = {"targetName": target, "testFraction": 0, **wishes}
    question = json.dumps({**content, "wishes": wishes, "wants": list(wants)})
    done = subprocess.run(
        ["node", "--single-threaded", "runner.js"],  # threads that compile can block the exit
        input=question,
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
