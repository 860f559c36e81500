"""A copy of the project in which changes are made and tests are run."""

from __future__ import annotations

import compileall
import importlib
import json
import os
import py_compile
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from tests.helpers.paths import ROOT

_SKIPPED = (".git", ".venv", "build", "__pycache__", "_build", ".hypothesis", "*.so")


class Copy:
    """A copy of the project, with a server that runs its tests.

    Parameters
    ----------
    folder : Path
        Where the copy is made; it may exist.
    core : Path, optional
        The compiled core to use, by default the installed one.
    """

    def __init__(self, folder: Path, core: Path | None = None) -> None:
        folder = folder.resolve()
        self.root = folder / "project"
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(ROOT, self.root, ignore=shutil.ignore_patterns(*_SKIPPED))
        self._log = folder / "log.txt"
        sources = self.root / "src", self.root / "paper" / "src"
        modules = ("bneuralt", "_core", core), ("bneuralt_paper", "_mlp", None)
        for source, (package, name, compiled) in zip(sources, modules, strict=True):
            installed = importlib.import_module(f"{package}.{name}").__file__
            shutil.copy(compiled or str(installed), source / package / Path(str(installed)).name)
        # The time and size of a changed file may equal those of the original; its hash does not.
        compileall.compile_dir(
            self.root / "src",
            quiet=2,
            invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH,
        )
        environment = {
            "BNEURALT_SHARED": str(ROOT.parent / "shared"),
            **os.environ,
            "SCIPY_ARRAY_API": "1",
            "PYTHONPATH": os.pathsep.join(map(str, sources)),
            "PATH": sysconfig.get_path("scripts") + os.pathsep + os.environ["PATH"],
        }
        server = Path(__file__).with_name("server.py")
        self._server = subprocess.Popen(
            [sys.executable, server, *map(str, sources)],
            cwd=self.root,
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def run(
        self,
        tests: list[str],
        *options: str,
        cpu_seconds: float = 3600,
        environment: dict[str, str] | None = None,
        record: Path | None = None,
    ) -> int:
        """Run tests; return pytest's exit code, or minus the signal that ended them."""
        common = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly"]
        common += ["--hypothesis-seed=0", "--hypothesis-profile=mutants", "--timeout=0"]
        task: dict[str, Any] = {
            "arguments": [*common, *options, *tests],
            "environment": environment or {},
            "cpu_seconds": round(cpu_seconds),
            "seconds": 60 + round(10 * cpu_seconds),  # a test may wait, or others may compute
            "record": record and str(record),
            "log": str(self._log),
        }
        assert self._server.stdin is not None and self._server.stdout is not None
        print(json.dumps(task), file=self._server.stdin, flush=True)
        return int(self._server.stdout.readline())

    def log(self) -> str:
        """Return what the last tests have printed."""
        return self._log.read_text(errors="replace")

    def close(self) -> None:
        """End the server."""
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait()
