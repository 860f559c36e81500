"""The features of generated C code: what a row consists of, and how it becomes inputs of trees.

A column of dates is one feature for each of its parts. A column of categories holds their positions
in a generated list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bneuralt.export.c_text import c_string, unique_identifiers
from bneuralt.export.plan import Plan, PlanColumn
from bneuralt.tables.features import CategoryFeature, DateFeature, NumberFeature

__all__ = ["CFeature", "Encoding", "c_features", "declarations", "encode_function"]


@dataclass(frozen=True)
class CFeature:
    """A number in a row.

    Attributes
    ----------
    name : str
        The name of the column, with the part of a date.
    identifier : str
        The part of its constant behind the prefix.
    column : PlanColumn
    part : int or None
        The position of the part of a date.
    """

    name: str
    identifier: str
    column: PlanColumn
    part: int | None = None

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories, whose positions are the values."""
        feature = self.column.feature
        return feature.categories if isinstance(feature, CategoryFeature) else ()

    @property
    def is_category(self) -> bool:
        """Whether the values are positions of categories."""
        return isinstance(self.column.feature, CategoryFeature)

    @property
    def input(self) -> int | None:
        """The input that has the value of a number or a part; None if there is none."""
        is_date = isinstance(self.column.feature, DateFeature)
        if self.is_category or (is_date and self.part is None):
            return None
        return self.column.inputs[self.part or 0]

    @property
    def mean(self) -> float | None:
        """What stands for a missing number; None for categories, and if it is not known."""
        feature = self.column.feature
        if isinstance(feature, DateFeature):
            return None if self.part is None else feature.means[self.part]
        return feature.mean if isinstance(feature, NumberFeature) else None


def c_features(plan: Plan) -> list[CFeature]:
    """Return the features of a plan in the order of its columns."""
    found: list[tuple[str, PlanColumn, int | None]] = []
    for column in plan.columns:
        if isinstance(column.feature, DateFeature) and column.feature.parts:
            parts = enumerate(column.feature.parts)
            found += [(f"{part} of {column.name}", column, i) for i, part in parts]
        elif column.inputs or not isinstance(column.feature, DateFeature):
            found.append((column.name, column, None))
    names = unique_identifiers([name for name, *_ in found])
    return [
        CFeature(name, identifier, column, part)
        for (name, column, part), identifier in zip(found, names, strict=True)
    ]


def is_plain(plan: Plan) -> bool:
    """Return whether features and inputs are the same, all of them numbers without gaps."""
    return all(
        isinstance(column.feature, NumberFeature) and not column.feature.has_gaps
        for column in plan.columns
    )


def declarations(plan: Plan, features: list[CFeature], name: str) -> str:
    """Return constants with the numbers, positions and names of features and outputs."""
    upper = name.upper()
    lines = [f"#define {upper}_N_FEATURES {len(features)}"]
    lines += [f"#define {upper}_N_OUTPUTS {plan.n_outputs}", "", "/* Positions in a row. */"]
    entries = [f"    {upper}_IN_{f.identifier} = {i}" for i, f in enumerate(features)]
    lines += ["enum {", ",\n".join(entries), "};", ""]
    lines += [_strings(f"{name}_feature_names[{len(features)}]", [f.name for f in features])]
    lines += [_strings(f"{name}_output_names[{plan.n_outputs}]", plan.output_names)]
    for feature in features:
        if feature.categories:
            size = len(feature.categories)
            place = f"{name}_categories_{feature.identifier.lower()}[{size}]"
            lines += [_strings(place, feature.categories)]
    return "\n".join(lines)


def _strings(place: str, texts: tuple[str, ...] | list[str]) -> str:
    body = ",\n".join(f"    {c_string(text)}" for text in texts)
    return f"static const char *const {place} = {{\n{body}}};"


def category_function(features: list[CFeature], name: str) -> str:
    """Return the function that finds the position of a category; empty if there are none."""
    cases = [
        f"    case {name.upper()}_IN_{f.identifier}:\n"
        f"        names = {name}_categories_{f.identifier.lower()};\n"
        f"        n = {len(f.categories)};\n"
        f"        break;"
        for f in features
        if f.categories
    ]
    if not cases:
        return ""
    listed = "\n".join(cases)
    return f"""\
/* The value of a category: its position in the list, or -1 for one that is not in it. */
static inline int {name}_category(int feature, const char *text)
{{
    const char *const *names;
    int n, i, j;
    switch (feature) {{
{listed}
    default:
        return -1;
    }}
    for (i = 0; i < n; i++) {{
        for (j = 0; names[i][j] != '\\0' && names[i][j] == text[j]; j++) {{
        }}
        if (names[i][j] == text[j])
            return i;
    }}
    return -1;
}}
"""


@dataclass(frozen=True)
class Encoding:
    """How inputs are written in C: their type, numbers as literals, and what is missing.

    Attributes
    ----------
    type : str
    literal : callable
        Returns the literal for a real value of an input.
    is_missing : callable
        Returns the condition that an expression is a missing value.
    position : callable
        Returns an expression that is a position, as an int.
    narrows : bool
        Whether inputs have fewer bits than features.
    centers : tuple of str
        Literals of what is subtracted from each input, empty where it is 0.
    """

    type: str
    literal: Callable[[int, float], str]
    is_missing: Callable[[str], str]
    position: Callable[[str], str]
    narrows: bool = False
    centers: tuple[str, ...] = ()


def encode_function(features: list[CFeature], name: str, type: str, encoding: Encoding) -> str:
    """Return the function that turns a row, of some type, into inputs of the trees."""
    body: list[str] = []
    has_position = False
    for i, feature in enumerate(features):
        value = f"x[{i}]"
        if feature.is_category:
            body += _encode_category(feature, value, encoding)
            has_position = has_position or bool(feature.column.inputs)
        else:
            body += _encode_number(feature, value, encoding)
    text = "\n".join(f"    {line}" for line in body)
    local = "    int i, entry;\n" if has_position else ""
    return f"""\
/* What the trees see of a row. */
static inline void {name}_encode(const {type} *x, {encoding.type} *in)
{{
{local}{text}
}}
"""


def _encode_number(feature: CFeature, value: str, encoding: Encoding) -> list[str]:
    j = feature.input
    missing = encoding.is_missing(value)
    if j is None:  # a date of which it only matters whether it is missing
        return [_encode_gap(feature, missing, encoding)]
    cast = f"({encoding.type})" if encoding.narrows else ""
    shifted = f"{cast}{value}"
    if encoding.centers and encoding.centers[j]:
        shifted = f"{value} - {encoding.centers[j]}".replace("- -", "+ ")
    if feature.mean is None:
        return [f"in[{j}] = {shifted};"]
    lines = [f"in[{j}] = {missing} ? {encoding.literal(j, feature.mean)} : {shifted};"]
    if feature.column.feature.has_gaps and not feature.part:
        lines.append(_encode_gap(feature, missing, encoding))
    return lines


def _encode_gap(feature: CFeature, missing: str, encoding: Encoding) -> str:
    """Return the statement that sets the input that says whether the value is missing."""
    last = feature.column.inputs[-1]
    yes, no = encoding.literal(last, 1.0), encoding.literal(last, 0.0)
    return f"in[{last}] = {missing} ? {yes} : {no};"


def _encode_category(feature: CFeature, value: str, encoding: Encoding) -> list[str]:
    column = feature.column.feature
    assert isinstance(column, CategoryFeature)
    inputs = feature.column.inputs
    n, n_entries = len(column.categories), len(column.shares)
    if not inputs:
        return []
    unknown = n if column.has_other else n_entries
    missing = n_entries - 1 if column.has_gaps else n_entries
    skipped = n_entries - len(inputs)
    shares = ", ".join(encoding.literal(j, column.shares[j - inputs[0] + skipped]) for j in inputs)
    yes, no = encoding.literal(inputs[0], 1.0), encoding.literal(inputs[0], 0.0)
    known = f"{value} >= 0 && {value} < {n}" if n else "0"
    return [
        f"entry = {encoding.is_missing(value)} ? {missing}",
        f"    : {known} ? {encoding.position(value)} : {unknown};",
        f"for (i = 0; i < {len(inputs)}; i++) {{",
        f"    static const {encoding.type} shares[{len(inputs)}] = {{{shares}}};",
        f"    in[{inputs[0]} + i] = entry == {n_entries} ? shares[i]",
        f"        : entry == i + {skipped} ? {yes} : {no};",
        "}",
    ]
