"""Base class of C code of models, with any arithmetic: from a row to predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from string import Template
from typing import NamedTuple

from bneuralt.export.c.features import CRow
from bneuralt.export.c.literals import c_templates
from bneuralt.export.c.mathematics import CMath
from bneuralt.expressions import Expression
from bneuralt.model import Model

__all__ = ["ModelCode", "PublicFunction"]

templates = c_templates("model.c")


class PublicFunction(NamedTuple):
    """A function that users call: its declaration, a comment, and its statements."""

    head: str
    about: str
    body: str


@dataclass(frozen=True, eq=False)
class ModelCode:
    """The C code of a model.

    Attributes
    ----------
    row : CRow
    name : str
        Prefix of all names.
    straight : bool
        Whether trees are written out as statements.
    math : CMath
        Translates functions of real numbers.
    """

    row: CRow
    name: str
    straight: bool
    math: CMath

    @property
    def model(self) -> Model:
        """The model, simplified."""
        return self.row.model

    # -- defined by the kinds of arithmetic ----------------------------------------------

    @property
    def parts(self) -> dict[str, object]:
        """Names and code that templates contain.

        `feature`, `value`, `sum`, `probability`, `label`: types of features, of outputs of a tree,
        of totals, probabilities and labels; `totals`, `about`: name and comment of the totals over
        all trees; `tables`, `begin`: arguments of the function that reads a tree from tables, and
        their declarations; `row`, `encode`, `inputs`: how a row becomes inputs; `finish`: last
        statements of the function of totals; `share`: the probability of an output; `half_total`:
        the total of a probability of 1/2; `unit`: a note on the unit of predictions.
        """
        raise NotImplementedError

    def typedefs(self) -> str:
        """Return the types and constants that users need."""
        raise NotImplementedError

    def helpers(self) -> str:
        """Return the functions that users may need besides those that predict."""
        return ""

    def trees_code(self) -> str:
        """Return tables, the function from a row to inputs, and functions that evaluate trees."""
        raise NotImplementedError

    def adder(self) -> str:
        """Return the function that adds the contribution of a tree to the totals."""
        raise NotImplementedError

    def literals(self, j: int, values: Sequence[float]) -> list[str]:
        """Return the literals for real values of an input."""
        raise NotImplementedError

    def text_source(self, j: int) -> tuple[Expression, str]:
        """Return what tables have of an input of a text, and a template that computes the rest."""
        return self.model.inputs[j].expression, "{}"

    def is_missing(self, value: str) -> str:
        """Return the condition that a feature is missing."""
        raise NotImplementedError

    @property
    def first_statements(self) -> list[str]:
        """The statements with which the function from a row to inputs begins."""
        return []

    def encode_number(self, column: int, j: int) -> str:
        """Return the code of an input that does not depend on the text of a cell."""
        raise NotImplementedError

    # -- shared --------------------------------------------------------------------------

    @cached_property
    def names(self) -> dict[str, object]:
        """All names and numbers that templates contain."""
        return {
            **self.math.names,
            "NAME": self.name,
            "UPPER": self.name.upper(),
            "n_inputs": self.model.n_inputs,
            "n_outputs": self.model.n_outputs,
            "n_trees": len(self.model.trees),
            "tree": "" if self.straight else ", tree",
            **self.parts,
        }

    def fill(self, template: str, **more: object) -> str:
        """Return a template with the names and numbers of this code."""
        return Template(template).substitute(self.names | more)

    def source(self) -> str:
        """Return tables and all functions that users do not call."""
        name, n, totals, inputs = self.name, len(self.model.trees), *self._names("totals", "inputs")
        parts, more = [self.trees_code()], dict[str, object]()
        add = f"    {name}_add(y, {totals});\n"
        if n == 1:
            call = "tree0($inputs, y)" if self.straight else "tree($tables, $inputs, y)"
            parts.append(self.fill(templates.OUTPUTS, call=f"{name}_{self.fill(call)}"))
            more = dict.fromkeys(("begin", "row", "encode", "tree", "about"), "")
            calls = f"    {name}_outputs(x, y);\n{add}"
        elif self.straight:
            calls = "".join(f"    {name}_tree{i}({inputs}, y);\n{add}" for i in range(n))
        else:
            calls = self.fill(templates.ALL_TREES)
        parts += [self.adder(), self.fill(templates.TOTALS, **more, calls=calls)]
        return "\n".join(parts)

    def public_functions(self) -> list[PublicFunction]:
        """Return the functions from a row to predictions."""
        model, totals, unit = self.model, *self._names("totals", "unit")
        predict, row = "${NAME}_predict", "const $feature *x"
        if model.task == "numbers":
            if model.n_outputs == 1:
                number = f"The predicted number{unit}."
                return [self._public(f"$sum {predict}({row})", number, templates.ONE_NUMBER)]
            head = f"void {predict}({row}, $sum *out)"
            return [self._public(head, f"The predicted numbers{unit}.", self.numbers())]
        if model.task == "labels":
            head, about = f"void {predict}({row}, $label *out)", "1 for each label of the row."
            first = self._public(
                head, about, templates.EACH, result=self.fill("$totals[k] > $half_total")
            )
        else:
            head, about = f"int {predict}({row})", "The position of the predicted class."
            scores = {"function": totals, "scores": totals, "type": self.names["sum"]}
            if model.decides_by_outputs:
                scores = {"function": "outputs", "scores": "y", "type": self.names["value"]}
            first = self._public(head, about, templates.ARGMAX, **scores)
        head = f"void {predict}_proba({row}, $probability *out)"
        share = self.names["share"]
        return [
            first,
            self._public(head, f"The probabilities{unit}.", templates.EACH, result=share),
        ]

    def numbers(self) -> str:
        """Return the statements that predict several numbers."""
        return templates.NUMBERS

    def _public(self, head: str, about: str, body: str, **more: object) -> PublicFunction:
        return PublicFunction(self.fill(head), about, self.fill(body, **more))

    def _names(self, *keys: str) -> tuple[str, ...]:
        return tuple(str(self.names[key]) for key in keys)
