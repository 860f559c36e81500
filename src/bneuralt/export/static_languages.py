"""What the printers of languages with static types share."""

from __future__ import annotations

from bneuralt import __version__
from bneuralt.export.printer import Template, comment_text
from bneuralt.export.program import Program
from bneuralt.expressions.operations import DATE_PARTS

__all__ = ["MAX_TERMS", "check_size", "date_places", "facts", "named_columns"]

#: Compilers limit the size of functions: longer programs are refused, unless trees are tables.
MAX_TERMS = 4000


def date_places(template: str) -> dict[str, Template]:
    """Return the templates of parts of dates that are entries of a vector.

    Examples
    --------
    >>> date_places("{0}[{}]")["date_part month"]
    ('atom', '{0}[1]')
    """
    return {
        f"date_part {part}": ("atom", template.replace("{}", str(i)))
        for i, part in enumerate(DATE_PARTS)
    }


def facts(begin: str, program: Program) -> str:
    """Return the comment at the top of a file."""
    return f"{begin}Written by bneuralt {__version__}: {program.model.kind}."


def named_columns(program: Program) -> list[str]:
    """Return the lines of a comment with the columns of a row."""
    columns = enumerate(program.model.columns)
    return [
        "Returns the prediction for a row, the values of these columns:",
        *(f"{i}: {comment_text(column.name)}" for i, column in columns),
    ]


def check_size(program: Program, language: str) -> None:
    """Raise an error if a function would be too long for compilers."""
    n = sum(len(statement.value.arguments) for statement in program.body)
    if n > MAX_TERMS and not any(s.value.operation == "forest" for s in program.body):
        raise ValueError(
            f"the program has {n:,} terms, and functions of {language} have at most "
            f"{MAX_TERMS:,}: use fewer or smaller trees"
        )
