"""The C function that turns a row into inputs of the trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.export.c.literals import array, c_templates
from bneuralt.export.c.model_code import ModelCode
from bneuralt.export.cell_reads import cell_reads, text_values

__all__ = ["encode_function"]

templates = c_templates("model.c")

#: A table in which all numbers but so many are the same is written as comparisons.
MOST_CASES = 4


def encode_function(code: ModelCode, type: str) -> str:
    """Return the function from features to inputs.

    Parameters
    ----------
    code : ModelCode
    type : str
        Of inputs.
    """
    lines = list(code.first_statements)
    done = code.row.left_out | code.row.number_of_input.keys()
    for i, column in enumerate(code.model.columns):
        reads_text = {
            j: cell_reads(code.model.inputs[j].expression).has_text for j in column.inputs
        }
        lines += _encode_texts(code, type, i, [j for j in column.inputs if reads_text[j]])
        lines += [
            f"in[{j}] = {code.encode_number(i, j)};"
            for j in column.inputs
            if not reads_text[j] and j not in done
        ]
    local = []
    if any(line.startswith("entry =") for line in lines):
        has_loop = any(line.startswith("for") for line in lines)
        local = ["int i, entry;" if has_loop else "int entry;"]
    body = "\n".join(f"    {line}" for line in local + lines)
    return code.fill(templates.ENCODE, input=type, body=body)


def _encode_texts(code: ModelCode, type: str, column: int, inputs: list[int]) -> list[str]:
    """Return the statements for the inputs of a column that depend on the text of a cell."""
    if not inputs:
        return []
    place = code.row.place(column, "text")
    texts, value = code.row.features[place].texts, f"x[{place}]"
    entries = [code.model.inputs[j] for j in inputs]
    n, values = len(texts), text_values(entries, texts)
    is_listed = f"{value} >= 0 && {value} < {n}" if n else "0"

    def entry(unknown: int, missing: int) -> list[str]:
        return [
            f"entry = {code.is_missing(value)} ? {missing}",
            f"    : {is_listed} ? (int){value} : {unknown};",
        ]

    one_hot = _one_hot(values)
    if one_hot is None or inputs != list(range(inputs[0], inputs[-1] + 1)):
        return [*entry(n, n + 1), *_looked_up(code, type, inputs, texts)]
    positions, n_positions, shares = one_hot
    shares = shares or [entry.mean or 0.0 for entry in entries]
    listed = [code.literals(j, [share])[0] for j, share in zip(inputs, shares, strict=True)]
    yes, no = code.literals(inputs[0], [1.0, 0.0])
    return [
        *entry(positions[n], positions[n + 1]),
        f"for (i = 0; i < {len(inputs)}; i++) {{",
        f"    static const {type} shares[{len(inputs)}] = {{{', '.join(listed)}}};",
        f"    in[{inputs[0]} + i] = entry == {n_positions} ? shares[i]",
        f"        : entry == i + {n_positions - len(inputs)} ? {yes} : {no};",
        "}",
    ]


def _looked_up(
    code: ModelCode, type: str, inputs: Sequence[int], texts: Sequence[str]
) -> list[str]:
    """Return statements that take inputs from tables, or compute them from what tables have."""
    tables: dict[tuple[str, ...], str] = {}
    lines = []
    for j in inputs:
        source, result = code.text_source(j)
        read = code.model.inputs[j]._replace(expression=source)
        numbers = tuple(code.literals(j, text_values([read], texts)[:, 0].tolist()))
        value = _few(numbers)
        if value is None:
            name = tables.setdefault(numbers, f"values{len(tables)}")
            value = f"{name}[entry]"
        lines.append(f"    in[{j}] = {result.format(value)};")
    listed = [
        f"    {line}"
        for numbers, name in tables.items()
        for line in array(f"static const {type} {name}[{len(numbers)}]", numbers).split("\n")
    ]
    return ["{", *listed, *lines, "}"]


def _few(numbers: Sequence[str]) -> str | None:
    """Return numbers that are the same but for a few as a choice; None if many are different."""
    ((usual, n),) = Counter(numbers).most_common(1)
    if len(numbers) - n > MOST_CASES:
        return None
    others = [(i, number) for i, number in enumerate(numbers) if number != usual]
    choices = "".join(f"entry == {i} ? {number} : " for i, number in others)
    return f"({choices}{usual})" if others else usual


def _one_hot(values: FloatArray) -> tuple[list[int], int, list[float] | None] | None:
    """Return the position of the 1 in each row, the number of positions, and a row without one.

    Each text has a different position; the first position may have no input. None if the inputs
    are not of this kind.
    """
    n_texts, n_inputs = len(values) - 2, values.shape[1]
    for n_positions in (n_inputs, n_inputs + 1):
        hot = np.eye(n_positions)[:, n_positions - n_inputs :]
        matches = (values[:, np.newaxis] == hot).all(axis=2)
        positions = np.where(matches.any(axis=1), matches.argmax(axis=1), n_positions)
        others = np.unique(values[positions == n_positions], axis=0)
        if len(others) <= 1 and positions[:n_texts].tolist() == list(range(n_texts)):
            return positions.tolist(), n_positions, others[0].tolist() if len(others) else None
    return None
