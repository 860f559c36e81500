"""Configuration of Sphinx; `make docs` builds the documentation with warnings as errors."""

import importlib.metadata
import re
import shutil
import tomllib
from pathlib import Path

from docutils.transforms import Transform
from sphinx import addnodes

import bneuralt
from bneuralt.declaring import GROUP_OF

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
    "sphinx_copybutton",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
default_role = "code"  # docstrings write `name` for code

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # the numpydoc sections contain the types
autodoc_mock_imports = ["river", "dask", "distributed"]  # of which docstrings would be inherited
numpydoc_show_class_members = False

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_title = f"bneuralt {version}"

# Copied code has neither prompts nor results.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"


def drop_foreign_references(app, what, name, obj, options, lines):
    """Remove references of inherited docstrings to pages of scikit-learn."""
    lines[:] = [re.sub(r":(?:ref|term):`(.*?)(?: <.*?>)?`", r"\1", line) for line in lines]


def escape_bars(app, what, name, obj, options, lines):
    """Keep the bars of |x| in formulas; reStructuredText would look for a substitution."""
    lines[:] = [line.replace("|", r"\|") for line in lines]


def group_parameters(app, what, name, obj, options, lines):
    """Write the names of groups between the parameters of estimators, which numpydoc has listed."""
    group, grouped = None, []
    for line in lines:
        match = re.match(r"( +)\*\*(\w+)\*\* : ", line)
        if line == ":Attributes:":
            group = False  # whatever their names are
        if match and group is not False and group != GROUP_OF.get(match[2], group):
            group = GROUP_OF[match[2]]
            grouped += [f"{match[1]}.. rubric:: {group}", ""]
        grouped.append(line)
    lines[:] = grouped


class SearchWords(Transform):
    """Make index entries of the words in search_words.toml; the search lists them first."""

    default_priority = 800  # before Sphinx collects the entries
    words = tomllib.loads(Path(__file__).with_name("search_words.toml").read_text(encoding="utf-8"))

    def apply(self):
        page = self.document.settings.env.docname
        entries = [("single", word, "", "main", None) for word in self.words.get(page, [])]
        self.document.insert(0, addnodes.index(entries=entries))


def copy_playground(app, error):
    """Copy what `make playground` writes, to which docs/page.md links."""
    page = Path(__file__).parents[1] / "build/playground.html"
    if page.exists() and app.builder.format == "html":
        shutil.copy(page, Path(app.outdir) / "train_in_browser.html")


def write_llms_txt(app, error):
    """Write llms.txt, in which language models look for pages, with links to plain text."""
    if error or app.builder.format != "html":
        return
    summary = importlib.metadata.metadata("bneuralt")["Summary"]
    lines = ["# bneuralt", "", f"> {summary}", "", "## Pages", ""]
    pages = [page for page in app.env.toctree_includes["index"] if page != "assistants"]
    for page in ["assistants", *pages]:
        lines.append(f"- [{app.env.titles[page].astext()}](_sources/{page}.md.txt)")
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def setup(app):
    app.add_transform(SearchWords)
    app.connect("build-finished", copy_playground)
    app.connect("build-finished", write_llms_txt)
    app.connect("autodoc-process-docstring", drop_foreign_references)
    app.connect("autodoc-process-docstring", escape_bars)
    app.connect("autodoc-process-docstring", group_parameters)
