"""What C code of models consists of, whatever it computes with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from bneuralt.export.c.features import CRow
from bneuralt.model import Model

__all__ = ["CTypes", "ModelCode"]

OUTPUTS = """\
/* The outputs of the tree. */
static inline void ${NAME}_outputs(const $feature *x, $value *y)
{
$begin$row$encode    $call;
}
"""

TOTALS = """\
${about}static inline void ${NAME}_$totals(const $feature *x, $sum *$totals)
{
$begin$row    $value y[$n_outputs];
    int k$tree;
    for (k = 0; k < $n_outputs; k++)
        $totals[k] = 0;
$encode$calls$finish}
"""

ALL_TREES = """\
    for (tree = 0; tree < $n_trees; tree++) {
        ${NAME}_tree($tables, $inputs, y);
        ${NAME}_add(y, $totals);
    }
"""

ARGMAX = """\
${public}int ${NAME}_predict(const $feature *x)
{
    $type $scores[$n_outputs];
    int k, best = 0;
    ${NAME}_$function(x, $scores);
    for (k = 1; k < $n_outputs; k++)
        if ($scores[k] > $scores[best])
            best = k;
    return best;
}
"""

PROBABILITIES = """\
${public}void ${NAME}_predict_proba(const $feature *x, $probability *out)
{
    $sum $totals[$n_outputs];
    int k;
    ${NAME}_$totals(x, $totals);
    for (k = 0; k < $n_outputs; k++)
        out[k] = $share;
}
"""

LABELS = """\
${public}void ${NAME}_predict(const $feature *x, $label *out)
{
    $sum $totals[$n_outputs];
    int k;
    ${NAME}_$totals(x, $totals);
    for (k = 0; k < $n_outputs; k++)
        out[k] = $totals[k] > $half_total;
}
"""

ONE_NUMBER = """\
${public}$sum ${NAME}_predict(const $feature *x)
{
    $sum sum;
    ${NAME}_$totals(x, &sum);
    return sum;
}
"""

NUMBERS = """\
${public}void ${NAME}_predict(const $feature *x, $sum *out)
{
    ${NAME}_$totals(x, out);
}
"""


class CTypes(NamedTuple):
    """The types of features, of outputs of a tree, of totals, probabilities and labels."""

    feature: str
    value: str
    sum: str
    probability: str
    label: str


@dataclass(frozen=True, eq=False)
class ModelCode:
    """The C code of a model.

    Attributes
    ----------
    row : CRow
    name : str
        What all names begin with.
    straight : bool
        Whether trees are written out as statements.
    has_libm : bool
        Whether functions of real numbers are taken from ``<math.h>``.
    public : str
        What the definitions of the functions that users call begin with.
    """

    row: CRow
    name: str
    straight: bool
    has_libm: bool
    public: str = ""

    @property
    def model(self) -> Model:
        """The model, simplified."""
        return self.row.model

    # -- what the kinds of code say ------------------------------------------------------

    @property
    def types(self) -> CTypes:
        """The types of numbers."""
        raise NotImplementedError

    @property
    def parts(self) -> dict[str, str]:
        """Return what templates of functions contain.

        `totals`, `about`: what is made of the outputs of all trees; `tables`, `begin`: arguments of
        the function that reads a tree from tables, and their declarations; `row`, `encode`,
        `inputs`: how a row becomes inputs; `finish`: what is done with the totals; `share`: the
        probability of an output; `half_total`: the total of a probability of 1/2; `unit`: what
        predictions are counted in.
        """
        raise NotImplementedError

    def fill(self, template: str, **more: object) -> str:
        """Return a template with the names and numbers of this code."""
        raise NotImplementedError

    def adder(self) -> str:
        """Return the function that adds what a tree contributes to the totals."""
        raise NotImplementedError

    def numbers(self) -> str:
        """Return the function that predicts several numbers."""
        return self._filled(NUMBERS)

    # -- functions that predict ----------------------------------------------------------

    def _filled(self, template: str, **more: object) -> str:
        names = self.types._asdict() | self.parts
        names |= {
            "public": self.public,
            "n_outputs": str(self.model.n_outputs),
            "n_trees": str(len(self.model.trees)),
            "tree": "" if self.straight else ", tree",
        }
        return self.fill(template, **{**names, **more})

    def prototypes(self) -> list[tuple[str, str]]:
        """Return the declarations of the functions that predict, each with a comment."""
        types, k, unit = self.types, self.model.n_outputs, self.parts["unit"]
        predict, row = f"{self.name}_predict", f"const {types.feature} *x"
        if self.model.task == "numbers":
            if k == 1:
                return [(f"{types.sum} {predict}({row})", f"The predicted number{unit}.")]
            return [(f"void {predict}({row}, {types.sum} *out)", f"The predicted numbers{unit}.")]
        first = f"int {predict}({row})", "The position of the predicted class."
        if self.model.task == "labels":
            first = f"void {predict}({row}, {types.label} *out)", "1 for each label of the row."
        declaration = f"void {predict}_proba({row}, {types.probability} *out)"
        return [first, (declaration, f"The probabilities{unit}.")]

    def predict_functions(self) -> list[str]:
        """Return the functions from a row to predictions."""
        model, name, parts, n = self.model, self.name, self.parts, len(self.model.trees)
        functions = []
        common, inputs, totals = dict(parts), parts["inputs"], parts["totals"]
        if n == 1:
            read = f"tree({parts['tables']}, {inputs}, y)"
            call = f"tree0({inputs}, y)" if self.straight else read
            functions.append(self._filled(OUTPUTS, call=f"{name}_{call}"))
            common |= dict.fromkeys(("begin", "row", "encode", "tree", "about"), "")
            calls = f"    {name}_outputs(x, y);\n    {name}_add(y, {totals});\n"
        elif self.straight:
            calls = "".join(
                f"    {name}_tree{i}({inputs}, y);\n    {name}_add(y, {totals});\n"
                for i in range(n)
            )
        else:
            calls = self._filled(ALL_TREES)
        if model.decides_by_outputs:
            scores = {"function": "outputs", "scores": "y", "type": self.types.value}
            functions.append(self._filled(ARGMAX, **scores))
        functions += [self.adder(), self._filled(TOTALS, **common | {"calls": calls})]
        if model.task == "numbers":
            one = model.n_outputs == 1
            return [*functions, self._filled(ONE_NUMBER) if one else self.numbers()]
        if model.task == "labels":
            functions.append(self._filled(LABELS))
        elif not model.decides_by_outputs:
            scores = {"function": totals, "scores": totals, "type": self.types.sum}
            functions.append(self._filled(ARGMAX, **scores))
        return [*functions, self._filled(PROBABILITIES)]
