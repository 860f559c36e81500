"""Configuration of Sphinx; `make docs` builds the documentation with warnings as errors."""

import re
from pathlib import Path

import bneuralt

project = "bneuralt"
author = "The bneuralt developers"
copyright = author
version = release = bneuralt.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
default_role = "code"  # docstrings write `name` for code

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # the numpydoc sections contain the types
autodoc_mock_imports = ["river"]  # whose docstrings would be inherited
numpydoc_show_class_members = False

# `make playground` writes it; without it, the link of docs/playground.md leads nowhere.
_playground = Path(__file__).parents[1] / "build/playground.html"
html_extra_path = [str(_playground)] if _playground.exists() else []

html_theme = "furo"
html_title = f"bneuralt {version}"


def drop_foreign_references(app, what, name, obj, options, lines):
    """Remove references of inherited docstrings to pages of scikit-learn."""
    lines[:] = [re.sub(r":(?:ref|term):`(.*?)(?: <.*?>)?`", r"\1", line) for line in lines]


def escape_bars(app, what, name, obj, options, lines):
    """Keep the bars of |x| in formulas; reStructuredText would look for a substitution."""
    lines[:] = [line.replace("|", r"\|") for line in lines]


def setup(app):
    app.connect("autodoc-process-docstring", drop_foreign_references)
    app.connect("autodoc-process-docstring", escape_bars)
