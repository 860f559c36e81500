"""Build the playground: one HTML file that trains models in a browser.

    python -m playground.build build/playground.html

PyPI's ziglang compiles the kernels for WebAssembly. Scripts, styles, examples and the page of a
model are put into the file, whose content policy allows no request.
"""

from __future__ import annotations

import base64
import gzip
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bneuralt.drawing import pages
from bneuralt.export.targets import TARGETS
from bneuralt.files import write_atomically
from playground.examples import examples
from playground.recipe import recipe_script, used_entries

__all__ = ["build", "compile_core", "write_modules"]

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
PAGE_SCRIPTS = ROOT / "src/bneuralt/drawing/page"

#: The modules of the worker and of the page, each after those that it imports.
WORKER = (
    *("recipe", "random", "texts", "csv", "layout", "features", "codes", "rows", "grow"),
    *(
        "core",
        "tree",
        "idle",
        "linear",
        "trial",
        "fit",
        "trained",
        "page_data",
        "importances",
        "session",
        "worker",
    ),
)
PAGE = ("tree", "animation", "client", "columns_view", "downloads", "lesson", "main")

#: The modules of the page of a model that predictions need.
PREDICTION = ("../../model/cells", "cells", "expressions", "model", "tree", "prediction")

SOURCES = ("wasm/playground.cpp", "growth.cpp", "random.cpp", "threads.cpp", "kernels/registry.cpp")
FLAGS = (
    *("-target", "wasm32-wasi", "-mcpu=baseline+simd128", "-mexec-model=reactor", "-std=c++20"),
    *(
        "-Os",
        "-s",
        "-flto",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-fvisibility=hidden",
        "-Wno-psabi",
    ),
    *("-DBNT_NO_THREADS", "-DBNT_ISA=baseline", "-DBNT_VECTOR_BYTES=16"),
)


def compile_core(path: Path) -> None:
    """Compile the kernels for WebAssembly, unless the file is newer than all sources."""
    sources = [ROOT / "cpp" / name for name in SOURCES]
    headers = (ROOT / "cpp").rglob("*.?pp")
    newest = max(path.stat().st_mtime for path in [*headers, *sources, Path(__file__)])
    if path.exists() and path.stat().st_mtime > newest:
        return
    if importlib.util.find_spec("ziglang") is None:
        raise SystemExit(
            "the playground needs PyPI's ziglang, a compiler for WebAssembly: install the extra "
            "'cross' (pip install 'bneuralt[cross]')"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_suffix(f".{os.getpid()}.part")
    only = f'-DBNT_ONLY=" {" ".join(used_entries())} "'
    compiler = [sys.executable, "-m", "ziglang", "c++", *FLAGS, only]
    subprocess.run([*compiler, *map(str, sources), "-o", str(made)], check=True)
    made.replace(path)


def write_modules(folder: Path) -> None:
    """Write all scripts as modules, so that Node can run them."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.js")}
    texts |= {"package.json": '{"type": "module"}\n', "recipe.js": recipe_script()}
    for name, text in texts.items():  # other processes may be reading them
        write_atomically(folder / name, text)


def _joined(modules: dict[str, str]) -> str:
    """Return modules as one script; each has a scope of its own."""
    parts = ['"use strict";\n']
    for name, text in modules.items():
        exports = re.findall(
            r"(?m)^export (?:async )?(?:const|function|class) (\w+|\[[^]]*])", text
        )
        names = ", ".join(export.strip("[]") for export in exports)
        body = re.sub(r'(?m)^import\s+([^;]*?)\s+from "./(\w+).js";\n', r"const \1 = $\2;\n", text)
        body = _shortened(re.sub(r"(?m)^export ", "", body))
        parts.append(f"const ${name} = (() => {{\n{body}return {{ {names} }};\n}})();\n")
    return "(() => {\n" + "".join(parts) + "})();\n"


def _shortened(script: str) -> str:
    """Return a script without comments on lines of their own and without indentation."""
    script = re.sub(r"(?ms)^\s*/\*\*.*?\*/\n", "", script)
    return re.sub(r"(?m)^\s*//.*\n|^ +", "", script)


def _stripped(texts: Sequence[str]) -> str:
    """Return modules as one text, without imports and exports."""
    return "\n".join(re.sub(r"(?m)^import\s[^;]*;\n|^export ", "", text) for text in texts)


def build(path: Path) -> str:
    """Write the playground to a file, and return it."""
    core = path.with_suffix("") / "playground.wasm"
    compile_core(core)
    template = pages._assemble("@model@", "Neural tree", small=False)
    assets = {
        "core": base64.b64encode(gzip.compress(core.read_bytes(), 9, mtime=0)).decode(),
        "worker": _joined({"recipe": recipe_script(), **_sources(WORKER[1:])}),
        "page": template,
        "modules": _stripped([_source(f"{name}.js", PAGE_SCRIPTS) for name in PREDICTION]),
        "examples": examples(),
        "exports": [
            f"--to {name} --out model{target.suffix}"
            for name, target in TARGETS.items()
            if name != "javascript"
        ],
    }
    style, script = _source("playground.css"), _joined(_sources(PAGE))
    # the page of the model is shown in a frame, where the policy of this page holds as well
    scripts, styles = (
        re.search(rf"{kind}-src ('sha256-[^']*')", template)[1]  # type: ignore[index]
        for kind in ("script", "style")
    )
    policy = (
        "default-src 'none'; img-src data:; worker-src blob:; "
        f"script-src 'wasm-unsafe-eval' {pages.policy_hash(script)} {scripts}; "
        f"style-src {pages.policy_hash(style)} {styles}"
    )
    parts = {
        "policy": f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        "style": style,
        "assets": pages.script_data(assets),
        "script": script,
    }
    page = re.sub(r"<!--(\w+)-->", lambda match: parts[match[1]], _source("playground.html"))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, page)
    return page


def _sources(names: Sequence[str]) -> dict[str, str]:
    return {name: _source(f"{name}.js") for name in names}


def _source(name: str, folder: Path = FOLDER) -> str:
    return (folder / name).read_text(encoding="utf-8")


if __name__ == "__main__":
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "build/playground.html")
    page = build(path)
    sizes = (
        f"{len(page.encode()) / 1e3:.0f} kB, {len(gzip.compress(page.encode(), 9)) / 1e3:.0f} kB"
    )
    print(f"{path}: {sizes} compressed")
