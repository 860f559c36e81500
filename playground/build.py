"""Build the playground: one HTML file that trains models in a browser.

    python -m playground.build build/playground.html

PyPI's ziglang compiles the kernels for WebAssembly. Scripts, styles, examples and the page of a
model are put into the file, whose content policy allows no request.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bneuralt.files import write_atomically
from playground.recipe import recipe_script

__all__ = ["build", "compile_core", "write_modules"]

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
PAGE_SCRIPTS = ROOT / "src/bneuralt/drawing/page"

#: The modules of the worker and of the page, each after those that it imports.
WORKER = (
    *("recipe", "random", "texts", "csv", "layout", "features", "rows", "grow", "core", "fit"),
    *("trained", "page_data", "session", "worker"),
)
PAGE = ("lesson", "animation", "columns_view", "downloads", "main")

SOURCES = ("wasm/playground.cpp", "order.cpp", "threads.cpp", "kernels/registry.cpp")
FLAGS = (
    *("-target", "wasm32-wasi", "-mcpu=baseline+simd128", "-mexec-model=reactor", "-std=c++20"),
    *("-O2", "-s", "-fno-math-errno", "-fno-trapping-math", "-fvisibility=hidden", "-Wno-psabi"),
    *("-DBNT_NO_THREADS", "-DBNT_ISA=baseline", "-DBNT_VECTOR_BYTES=16"),
)


def compile_core(path: Path) -> None:
    """Compile the kernels for WebAssembly, unless the file is newer than all sources."""
    sources = [ROOT / "cpp" / name for name in SOURCES]
    headers = [*(ROOT / "cpp").glob("*.?pp"), *(ROOT / "cpp/kernels").glob("*.?pp"), *sources]
    newest = max(header.stat().st_mtime for header in headers)
    if path.exists() and path.stat().st_mtime > newest:
        return
    if importlib.util.find_spec("ziglang") is None:
        raise SystemExit(
            "the playground needs PyPI's ziglang, a compiler for WebAssembly: install the extra "
            "'cross' (pip install 'bneuralt[cross]')"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_suffix(".part")
    command = [sys.executable, "-m", "ziglang", "c++", *FLAGS, *map(str, sources), "-o", str(made)]
    subprocess.run(command, check=True)
    made.replace(path)


def write_modules(folder: Path) -> None:
    """Write all scripts as modules, so that Node can run them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"type": "module"}\n')
    (folder / "recipe.js").write_text(recipe_script(), encoding="utf-8")
    for path in FOLDER.glob("*.js"):
        (folder / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")


def _joined(texts: Sequence[str]) -> str:
    """Return modules as one script in a scope of its own."""
    parts = (re.sub(r"(?m)^import\s[^;]*;\n|^export ", "", text) for text in texts)
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "})();\n"


def _source(name: str, folder: Path = FOLDER) -> str:
    return (folder / name).read_text(encoding="utf-8")
