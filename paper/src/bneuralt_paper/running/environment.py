"""Provenance of results: the commit of the code, and the machine."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from pathlib import Path

import bneuralt

__all__ = ["current_commit", "machine_name"]


@cache
def current_commit() -> str | None:
    """Return the commit of the source tree, or None if the package does not run from one."""
    package = Path(bneuralt.__file__).parent
    root = package.parents[1]
    if package != root / "src" / "bneuralt" or not (root / ".git").exists():
        return None
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        result = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout.strip() or None


@cache
def machine_name() -> str:
    """Return the processor, the number of cores and the operating system."""
    processor = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                processor = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass  # not Linux
    return f"{processor}, {os.cpu_count()} cores, {platform.system()}"
