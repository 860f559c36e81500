"""The interactive page: one file with the model, the styles and the scripts of `drawing/page`.

The page makes no request. Names come into it as JSON, which scripts read as data and show as text;
its content security policy allows no other script than its own.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from os import PathLike
from typing import Any, NamedTuple

from bneuralt.drawing.page_data import page_data
from bneuralt.drawing.view import Drawable, as_model
from bneuralt.files import write_atomically
from bneuralt.plotting import PALETTES

__all__ = [
    "Component",
    "notebook_html",
    "page_component",
    "policy_hash",
    "script_data",
    "to_html",
]

#: The scripts, each after those that it imports.
_SCRIPTS = (
    *("../../model/cells", "cells", "expressions", "model", "tree", "prediction", "format"),
    *("elements", "background"),
    *("effects", "effect_charts", "effect_panel", "interactions"),
    *("scores", "editing", "edit_panel"),
    *("summary", "layout", "scene", "view", "gestures", "form", "rows", "panels", "history"),
    "mount",
)

#: Models whose data is larger than this, in characters, are not shown in notebooks by themselves.
MAX_IN_NOTEBOOK = 400_000


class Component(NamedTuple):
    """The style and the script of the page, for other pages that contain it."""

    style: str
    script: str


def to_html(
    model: Drawable,
    path: str | PathLike[str] | None = None,
    *,
    examples: Any = None,
    title: str | None = None,
    small: bool = False,
    feature_names: Any = None,
    output_names: Any = None,
    file: Mapping[str, Any] | None = None,
) -> str:
    """Return a page on which a model can be looked at and tried out, as one file.

    Parameters
    ----------
    model : Model, fitted estimator, or NeuralTree
        What to show.
    path : str or path-like, optional
        A file to write the page to, as well.
    examples : table, optional
        Rows to step through, with the columns of the training table; at most 1,000 are kept.
    title : str, optional
        Heading of the page; the name of the estimator by default.
    small : bool
        Whether to leave out what needs room, as in notebooks.
    feature_names, output_names : sequence, optional
        Names to use instead of those of the model.
    file : dict, optional
        The content of the model's file; with it, the model can be edited on the page.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> from bneuralt.drawing.pages import to_html
    >>> page = to_html(NeuralTree.random(4, 3, random_state=0), title="A random tree")
    >>> "A random tree" in page
    True
    """
    model = as_model(model)
    data = page_data(model, examples, feature_names, output_names, file)
    page = _assemble(data, model.kind if title is None else title, small)
    if path is not None:
        write_atomically(path, page)
    return page


def notebook_html(model: Drawable, height: int = 480) -> str:
    """Return a small page in a frame, to be put beside other output of a notebook.

    Parameters
    ----------
    model : Model, fitted estimator, or NeuralTree
    height : int
        Of the frame, in pixels.

    Returns
    -------
    str
        HTML; a note on how to see the page if the model is too large.
    """
    model = as_model(model)
    data = page_data(model)
    if len(script_data(data)) > MAX_IN_NOTEBOOK:
        facts = html.escape(data["facts"])
        return f'<p>{facts}. See the tree with <code>to_html("tree.html")</code>.</p>'
    page = html.escape(_assemble(data, model.kind, small=True))
    return (
        f'<iframe srcdoc="{page}" title="{model.kind}" sandbox="allow-scripts" '
        f'style="width: 100%; height: {height}px; border: 0"></iframe>'
    )


def page_component() -> Component:
    """Return the page as a part that other pages can contain.

    A page that has the style and the script, in this order, shows a model on an element that has a
    height with ``mountModel(element, data, {title: "A model"})``, where `data` is the JSON of
    `page_data`. It returns an object whose ``remove()`` clears the element again. The script
    defines this function and nothing else, and makes no request; see ``page/mount.js``.

    Returns
    -------
    Component

    Examples
    --------
    >>> page_component().script.startswith("const mountModel = ")
    True
    """
    return Component(_style(), _script())


def _assemble(data: dict[str, Any], title: str, small: bool) -> str:
    style, script = page_component()
    style += _file("page.css")
    options = {"title": title, "isSmall": small}
    script += (
        'mountModel(document.getElementById("page"), '
        f'JSON.parse(document.getElementById("model").textContent), {script_data(options)});\n'
    )
    sources = f"style-src {policy_hash(style)}; script-src {policy_hash(script)}"
    policy = f"default-src 'none'; img-src data:; {sources}"
    parts = {
        "policy": f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        "title": html.escape(title),
        "style": style,
        "model": script_data(data),
        "script": script,
    }
    return re.sub(r"<!--(\w+)-->", lambda match: parts[match[1]], _file("page.html"))


def script_data(data: Any) -> str:
    r"""Return JSON that cannot end the script element that it is in.

    Examples
    --------
    >>> print(script_data({"name": "</script>"}))
    {"name":"\u003c/script\u003e"}
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def policy_hash(text: str) -> str:
    """Return the hash by which a content policy allows a script or a style.

    Examples
    --------
    >>> policy_hash("")[:16]
    "'sha256-47DEQpj8"
    """
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _file(name: str) -> str:
    if name.startswith("../../model/"):
        return (files("bneuralt.model") / name.rpartition("/")[2]).read_text(encoding="utf-8")
    return (files("bneuralt.drawing") / "page" / name).read_text(encoding="utf-8")


def _joined(*names: str) -> str:
    """Return modules as one script, without imports, exports and comments."""
    parts = [_file(f"{name}.js") for name in names]
    code = "\n".join(re.sub(r"(?m)^import .*\n|^export ", "", part) for part in parts)
    lines = (line.strip() for line in code.split("\n"))
    return "".join(f"{_dense(line)}\n" for line in lines if not _IS_COMMENT.match(line))


#: Lines that a script does not need; a generator starts with an asterisk and a name.
_IS_COMMENT = re.compile(r"$|//|/\*|\*( |/|$)")


def _dense(line: str) -> str:
    """Return a line of a script without the blanks that it does not need, outside of strings."""
    if "`" in line or "/" in line:  # templates and regular expressions stay as they are
        return line
    parts = re.split(r'("(?:[^"\\]|\\.)*")', line)
    parts[::2] = [re.sub(r" ?([][{}(),;:=<>?&|*]) ?", r"\1", part) for part in parts[::2]]
    return "".join(parts)


@cache
def _script() -> str:
    """Return all modules as one script that defines one function."""
    markup = script_data(re.sub(r"\n *", "\n", _file("component.html")))
    return (
        f'const mountModel = (() => {{\n"use strict";\nconst MARKUP = {markup};\n'
        f"{_joined(*_SCRIPTS)}return mount;\n}})();\n"
    )


@cache
def _style() -> str:
    """Return the rules of the component, with the colours that all drawings share."""
    light, dark = (
        " ".join(f"--{role.replace(' ', '-')}: {color};" for role, color in PALETTES[theme].items())
        for theme in ("light", "dark")
    )
    rules = re.sub(r"(?s)/\*.*?\*/", "", _file("component.css"))
    rules = re.sub(r"\s*([{};,])\s*", r"\1", rules)
    return (
        f".bneuralt {{ {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ .bneuralt {{ {dark} }} }}\n"
        f"{rules}\n"
    )
