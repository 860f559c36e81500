"""The features of generated C code: the numbers that a row consists of.

A column of dates becomes one feature for each part that is read. The feature of a column of
categories is a position in a generated list.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bneuralt.export.c.literals import c_string, unique_identifiers
from bneuralt.export.cell_reads import cell_reads, gap_values
from bneuralt.export.integer.number_units import lines_of_number
from bneuralt.model import Model

__all__ = ["CFeature", "CRow"]


@dataclass(frozen=True)
class CFeature:
    """A number in a row.

    Attributes
    ----------
    name : str
        The name of the column, with the part of a date.
    identifier : str
        The part of its constant behind the prefix.
    column : int
        Position of the column.
    reads : str
        The part of the cell: "number", "text", or the part of a date.
    texts : tuple of str
        The categories, whose positions are the values.
    input : int or None
        In rows of whole numbers, the input that has the value of the feature; None for categories,
        if it only matters whether the value is missing, and if inputs are computed from it.
    number : int or None
        In rows of whole numbers, the number of which several inputs are computed; see
        `bneuralt.export.integer.number_units`.
    """

    name: str
    identifier: str
    column: int
    reads: str
    texts: tuple[str, ...] = ()
    input: int | None = None
    number: int | None = None

    @property
    def is_category(self) -> bool:
        """Whether the values are positions of categories."""
        return self.reads == "text"


@dataclass(frozen=True, eq=False)
class CRow:
    """The features of a model in C.

    Attributes
    ----------
    model : Model
    is_integer : bool
        Whether features are whole numbers. If so, each input that is computed from a number or from
        a part of a date is a feature, unless code computes several inputs from one; otherwise,
        each number and each part is a feature.
    """

    model: Model
    is_integer: bool

    @cached_property
    def features(self) -> list[CFeature]:
        """The features in the order of the columns."""
        cells = [entry for i in range(len(self.model.columns)) for entry in self._reads(i)]
        counts = Counter(cell[:2] for cell in cells)
        names = [self._name(*cell[:3], counts[cell[:2]] > 1) for cell in cells]
        identifiers = unique_identifiers(names)
        return [
            CFeature(
                name,
                identifier,
                i,
                reads,
                self.model.columns[i].categories if reads == "text" else (),
                j,
                number,
            )
            for name, identifier, (i, reads, j, number) in zip(
                names, identifiers, cells, strict=True
            )
        ]

    def _name(self, column: int, reads: str, j: int | None, is_shared: bool) -> str:
        """Return the name of a feature: of its input if several features read the same part."""
        if is_shared and j is not None:
            return self.model.inputs[j].name
        name = self.model.columns[column].name
        return name if reads in ("number", "text") else f"{reads} of {name}"

    def _reads(self, column: int) -> list[tuple[int, str, int | None, int | None]]:
        """Return column, part of the cell, and input and number of rows of whole numbers."""
        values: dict[tuple[str, int | None, int | None], None] = {}
        gaps: list[str] = []
        for j in self.model.columns[column].inputs:
            if j in self.left_out:
                continue
            if (number := self.number_of_input.get(j)) is not None:
                values["number", None, number] = None
                continue
            reads = cell_reads(self.model.inputs[j].expression)
            gaps += reads.gaps
            if reads.has_text and len(reads.values + reads.gaps) > 1:
                raise ValueError(
                    f"the input {self.model.inputs[j].name!r} is computed from a text and from a "
                    "number or date of the same cell, which C code cannot do"
                )
            if self.is_integer and len(reads.values) > 1:
                raise ValueError(
                    f"the input {self.model.inputs[j].name!r} is computed from several parts of a "
                    "date, which integer code cannot do: use dtype='float' or 'double'"
                )
            for what in reads.values:
                values[what, j if self.is_integer and not reads.has_text else None, None] = None
        if not values and gaps:
            values[gaps[0], None, None] = None
        return [(column, *value) for value in values]

    @cached_property
    def number_of_input(self) -> dict[int, int]:
        """The number of each input that integer code computes."""
        by_number = lines_of_number(self.model) if self.is_integer else {}
        return {j: number for number, inputs in by_number.items() for j in inputs}

    @cached_property
    def left_out(self) -> set[int]:
        """Inputs of whole numbers that no leaf has, though one has another of the same number."""
        lines = self.model.encoder.lines
        if lines is None or not self.is_integer:
            return set()
        number, used = lines.column_of_input, self.model.used_inputs
        unused = np.setdiff1d(np.arange(self.model.n_inputs), used)
        return set(unused[np.isin(number[unused], number[used])].tolist())

    @cached_property
    def is_plain(self) -> bool:
        """Whether features and inputs are the same."""
        return [feature.input for feature in self.features] == list(range(self.model.n_inputs))

    def place(self, column: int, reads: str | None = None) -> int:
        """Return the position of the feature of a part, or of any feature of the column."""
        places = [i for i, feature in enumerate(self.features) if feature.column == column]
        chosen = [i for i in places if self.features[i].reads == reads]
        return (chosen or places)[0]

    def missing_value(self, j: int) -> float:
        """Return the value of an input for a missing cell, NaN if it has none."""
        return gap_values(self.model.inputs[j])[1]

    # -- declarations --------------------------------------------------------------------

    def declarations(self, name: str) -> str:
        """Return constants with the numbers, positions and names of features and outputs."""
        features, outputs = self.features, self.model.output_names
        upper = name.upper()
        lines = [f"#define {upper}_N_FEATURES {len(features)}"]
        lines += [f"#define {upper}_N_OUTPUTS {len(outputs)}", "", "/* Positions in a row. */"]
        entries = [f"    {upper}_IN_{f.identifier} = {i}" for i, f in enumerate(features)]
        lines += ["enum {", ",\n".join(entries), "};", ""]
        lines += [_strings(f"{name}_feature_names[{len(features)}]", [f.name for f in features])]
        lines += [_strings(f"{name}_output_names[{len(outputs)}]", outputs)]
        for feature in features:
            if feature.texts:
                place = f"{name}_categories_{feature.identifier.lower()}[{len(feature.texts)}]"
                lines += [_strings(place, feature.texts)]
        return "\n".join(lines)

    def category_function(self, name: str) -> str:
        """Return the C function from a category to its position; empty if there are none."""
        cases = [
            f"    case {name.upper()}_IN_{f.identifier}:\n"
            f"        names = {name}_categories_{f.identifier.lower()};\n"
            f"        high = {len(f.texts)};\n"
            f"        break;"
            for f in self.features
            if f.texts
        ]
        if not cases:
            return ""
        listed = "\n".join(cases)
        return f"""\
/* The value of a category: its position in the list, or -1 for one that is not in it. */
static inline int {name}_category(int feature, const char *text)
{{
    const char *const *names;
    int low = 0, high, j;
    switch (feature) {{
{listed}
    default:
        return -1;
    }}
    while (low < high) {{
        const int middle = low + (high - low) / 2;
        const char *const name = names[middle];
        for (j = 0; name[j] != '\\0' && name[j] == text[j]; j++) {{
        }}
        if (name[j] == text[j])
            return middle;
        if ((unsigned char)name[j] < (unsigned char)text[j])
            low = middle + 1;
        else
            high = middle;
    }}
    return -1;
}}
"""


def _strings(place: str, texts: tuple[str, ...] | list[str]) -> str:
    body = ",\n".join(f"    {c_string(text)}" for text in texts)
    return f"static const char *const {place} = {{\n{body}}};"
