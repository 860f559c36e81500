"""Models as straight-line code, for languages with assignments and functions.

Each input and each node is an assignment, in the order of evaluation. A function `link` computes
predictions from the outputs of a tree or from their means.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from bneuralt.export.nodes import nodes_of
from bneuralt.export.shares_of_columns import contribution_codes
from bneuralt.export.spellings import missing_spellings
from bneuralt.export.translation import (
    Cell,
    Code,
    Translator,
    may_be_missing,
    needed_helpers,
    occurrences,
)
from bneuralt.expressions import OUTPUTS
from bneuralt.model import Model
from bneuralt.tree import NeuralTree

__all__ = ["StatementTranslator", "comment_text"]


class StatementTranslator(Translator):
    """Base class of languages with assignments and functions.

    Attributes
    ----------
    indent : str
        Indentation of the lines of the function.
    end : str
        End of a statement.
    helpers : dict
        Name of a function that the code may call -> its code, those first that others call.
    readers : dict
        Operation that reads cells -> name of the function that reads the cell for it.
    """

    indent: ClassVar[str]
    end: ClassVar[str] = ""
    helpers: ClassVar[Mapping[str, str]]
    readers: ClassVar[Mapping[str, str]] = {
        "number": "number",
        "lookup": "text",
        "date_part": "date",
    }

    # -- defined by languages -------------------------------------------------------------

    def assignment(self, name: str, value: str, comment: str = "") -> str:
        """Return the statement that gives a name to a value."""
        raise NotImplementedError

    def function(self, name: str, parameters: Sequence[str], body: Sequence[str]) -> list[str]:
        """Return a function with the lines of its body."""
        raise NotImplementedError

    def requirement(self, name: str, message: str) -> list[str]:
        """Return the lines that raise an error if a value is missing."""
        raise NotImplementedError

    # -- shared by languages ---------------------------------------------------------------

    def vector_of(self, values: Sequence[Code]) -> str:
        """Return a vector."""
        return f"[{', '.join(values)}]"

    def body(
        self,
        model: Model,
        before: Sequence[str],
        after: Sequence[str],
        contributions: bool = False,
    ) -> list[str]:
        """Return the body of a function of `row`.

        Between the lines `before` and `after`, there are `predictions` and, of a single tree whose
        outputs decide on the class, `outputs`: both are vectors. With `contributions`, a vector of
        them has those of all columns, or a vector for each output where there are several.
        """
        lines = list(self._inputs(model))
        for tree, prefix in zip(model.trees, _prefixes(model), strict=True):
            lines += ["", *self._tree(tree, prefix, contributions)]
        lines += ["", *self._result(model)]
        if contributions:
            lines += ["", *self._contributions(model)]
        link = [] if model.link == OUTPUTS else ["", *self._link(model)]
        lines = [*before, *(f"{self.indent}{line}" if line else "" for line in lines), *after]
        helpers = needed_helpers("\n".join([*lines, *link]), self.helpers)
        if any("MISSING" in helper for helper in helpers):
            texts = self.vector_of([Code(json.dumps(text)) for text in missing_spellings()])
            helpers.insert(0, self.indent + self.assignment("MISSING", texts))
        return [*(helper.rstrip() for helper in helpers), *link, "", *lines]

    def _link(self, model: Model) -> list[str]:
        """Return the function from outputs to predictions."""
        names = [Code(f"o{j}") for j in range(model.n_outputs)]
        body: list[str] = []
        taken: set[str] = set(names)

        def define(name: str, code: Code) -> Code:
            while name in taken:
                name += "_"
            taken.add(name)
            body.append(self.assignment(name, code))
            return Code(name)

        values = self.vector(model.link, {"outputs": names}, define)
        result = self.vector_of(values * (len(names) // len(values)))
        body.append(f"return {result}{self.end}")
        return self.function("link", names, body)

    def _inputs(self, model: Model) -> Iterator[str]:
        used = set(model.used_inputs.tolist())
        for position, column in enumerate(model.columns):
            if used.isdisjoint(column.inputs):
                continue
            names = {
                operation: Code(f"{self.readers[operation]}{position}")
                for operation in column.cell_operations
            }
            for operation, name in names.items():
                yield self.assignment(name, f"{self.readers[operation]}(row[{position}])")
            cell = Cell.of_column(column, names.__getitem__)
            for i, expression in zip(column.inputs, column.expressions, strict=True):
                if i in used:
                    code = self.scalar(expression, {}, cell)
                    yield self.assignment(f"i{i}", code, comment_text(model.inputs[i].name))
                    if may_be_missing(expression):
                        message = (
                            f"value {position} is missing, and the model has no mean to replace it"
                        )
                        yield from self.requirement(f"i{i}", message)

    def _tree(self, tree: NeuralTree, prefix: str, names_sums: bool = False) -> Iterator[str]:
        for node in nodes_of(tree):
            j, expression = node.position, node.activation
            terms = [(weight, Code(f"i{i}")) for weight, i in node.leaves]
            terms += [(weight, Code(f"n{prefix}{child}")) for weight, child in node.children]
            z = self.weighted_sum(node.bias, terms)
            if names_sums or occurrences(expression, "z") > 1:
                yield self.assignment(f"z{prefix}{j}", z)
                z = Code(f"z{prefix}{j}")
            name = f"{'o' if j < tree.n_outputs else 'n'}{prefix}{j}"
            yield self.assignment(name, self.scalar(expression, {"z": z}))

    def _contributions(self, model: Model) -> Iterator[str]:
        lines: list[str] = []

        def define(name: str, code: Code) -> Code:
            lines.append(self.assignment(name, code))
            return Code(name)

        k = model.n_outputs
        nodes = [
            {
                j: (Code(f"z{prefix}{j}"), Code(f"{'o' if j < k else 'n'}{prefix}{j}"))
                for j in range(tree.parent.size)
            }
            for tree, prefix in zip(model.trees, _prefixes(model), strict=True)
        ]
        outputs = [[Code(f"o{prefix}{j}") for j in range(k)] for prefix in _prefixes(model)]
        means = [define(f"m{j}", code) for j, code in enumerate(self.means(outputs))]
        rows = contribution_codes(self, model, nodes, means, lambda i: Code(f"i{i}"), define)
        yield from lines
        vectors = [Code(self.vector_of(row)) for row in rows]
        yield self.assignment(
            "contributions", vectors[0] if len(vectors) == 1 else self.vector_of(vectors)
        )

    def _result(self, model: Model) -> Iterator[str]:
        k = model.n_outputs
        trees = [[Code(f"o{prefix}{j}") for j in range(k)] for prefix in _prefixes(model)]
        if model.averages == "predictions" and len(trees) > 1 and model.link != OUTPUTS:
            for t, outputs in enumerate(trees):
                yield self.assignment(f"p{t}", f"link({', '.join(outputs)})")
                trees[t] = [Code(f"p{t}[{j}]") for j in range(k)]
            yield self.assignment("predictions", self.vector_of(self.means(trees)))
            return
        if model.decides_by_outputs and model.task == "classes":
            yield self.assignment("outputs", self.vector_of(trees[0]))
        means = self.means(trees)
        code = self.vector_of(means) if model.link == OUTPUTS else f"link({', '.join(means)})"
        yield self.assignment("predictions", code)


def _prefixes(model: Model) -> list[str]:
    """Return the prefix of the numbers of the nodes of each tree."""
    return [""] if len(model.trees) == 1 else [f"{t}_" for t in range(len(model.trees))]


def comment_text(text: str) -> str:
    """Return a text that cannot end a comment, a docstring or a line."""
    return ascii(text)[1:-1].replace('"', "'").replace("\\", "/")
