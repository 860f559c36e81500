"""Folders of the project that tests read."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

#: Model files with their predictions, one folder for each version of the format.
MODELS = ROOT / "tests" / "models"
PAPER_MODELS = ROOT / "paper" / "tests" / "models"


def page_paths() -> list[Path]:
    """Return the pages of the documentation, those of the lab last."""
    return [*sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("lab/*.md"))]
