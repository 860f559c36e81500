"""A program in C that predicts the rows of a CSV file with generated code."""

from __future__ import annotations

from string import Template

from bneuralt.export.c.features import CRow
from bneuralt.export.c.literals import c_string, c_templates
from bneuralt.export.spellings import missing_spellings
from bneuralt.expressions import Expression, is_elementwise
from bneuralt.model import Model

__all__ = ["DATE_PARTS", "csv_program"]

templates = c_templates("csv_program.c")


#: Parts of a date, computed from its year, month, day and hour, and the days since a March of old.
DATE_PARTS = {
    "year": "year",
    "month": "month",
    "day": "day",
    "weekday": "(days + 2) % 7",
    "hour": "hour",
    "elapsed": "days - 719468 + hour / 24.0",
}


_KINDS = {"number": "NUMBER", "text": "CATEGORY"}


def csv_program(row: CRow, name: str, header: str, of_means: Expression) -> str:
    """Return a C program that includes generated code and predicts the rows of a CSV file.

    Parameters
    ----------
    row : CRow
    name : str
        Prefix of the generated code.
    header : str
        Name of its header.
    of_means : Expression
        The link from the mean outputs of integer code to predictions.
    """
    columns, features = row.model.columns, row.features
    kinds = [_KINDS.get(feature.reads, feature.reads.upper()) for feature in features]
    has_date = any(feature.reads in DATE_PARTS for feature in features)
    has_category = any(feature.texts for feature in features)
    parts = [
        f"    if (part == {part.upper()})\n        return {code};"
        for part, code in DATE_PARTS.items()
    ]
    features_of_columns = [getattr(column.feature, "notation", None) for column in columns]
    words = [
        (i, word)
        for i, (column, notation) in enumerate(zip(columns, features_of_columns, strict=True))
        for word in (*getattr(column.feature, "gap_words", ()), *getattr(notation, "gap_words", ()))
    ]
    names = {
        "gaps": ", ".join([*(c_string(word) for _, word in words), "0"]),
        "columns_of_gaps": ", ".join([*(str(i) for i, _ in words), "-1"]),
        "day_first": ", ".join(str(int(column.day_first)) for column in columns),
        "head": ", ".join(map(c_string, _head(row.model))),
        "NAME": name,
        "UPPER": name.upper(),
        "header": header,
        "n_columns": len(columns),
        "column_names": ",\n".join(f"    {c_string(column.name)}" for column in columns),
        "missing_texts": ", ".join(map(c_string, missing_spellings())),
        "cell_kinds": ", ".join([*_KINDS.values(), *map(str.upper, DATE_PARTS)]),
        "feature_columns": ", ".join(str(feature.column) for feature in features),
        "feature_kinds": ", ".join(kinds),
        "position": "category(i, text)" if has_category else "-1",
        "read_date": templates.READ_DATE * has_date,
        "convert": f"{name}_quantize(i, values[i])"
        if row.is_integer
        else f"({name}_input)values[i]",
        "predict": "\n".join(
            f"            {line}"
            for line in _predict(row.model, name, row.is_integer, is_elementwise(of_means))
        ),
        "date_parts": "\n".join(parts),
    }
    functions = templates.CATEGORY * has_category + templates.DATE * has_date
    program = templates.MAIN.replace("$functions", functions).replace(
        "${print_text}", templates.PRINT_TEXT
    )
    return Template(program).substitute(names)


def _head(model: Model) -> list[str]:
    """Return the names of the columns that the program writes."""
    if model.task == "numbers":
        return list(model.output_names)
    label = "labels" if model.task == "labels" else "label"
    return [label, *(f"probability of {name}" for name in model.output_names)]


def _predict(model: Model, name: str, is_integer: bool, has_value: bool) -> list[str]:
    """Return the statements that print the prediction for a row.

    Integer code returns sums; `has_value` tells whether each of them has a value by itself.
    """
    k, type_ = model.n_outputs, f"{name}_input"
    loop = f"for (i = 0; i < {k}; i++)"
    if model.task == "numbers":
        call = f"y[0] = {name}_predict(x);" if k == 1 else f"{name}_predict(x, y);"
        lines, value = [f"{'int32_t' if is_integer else type_} y[{k}];", call], "(double)y[i]"
        if is_integer and has_value:
            value = f"{name}_value(i, y[i])"
        elif is_integer:
            lines = [f"double values_of[{k}];", *lines, f"{name}_values(y, values_of);"]
            value = "values_of[i]"
        return [*lines, loop, f'    printf(i ? ",%.17g" : "%.17g", {value});']
    lines = [f"{'uint16_t' if is_integer else type_} p[{k}];"]
    if model.task == "labels":
        lines += [f"{'uint8_t' if is_integer else 'unsigned char'} has[{k}];"]
        lines += [f"{name}_predict(x, has);", loop, '    printf(i ? " %d" : "%d", has[i]);']
    else:
        lines += [f"print_text({name}_output_names[{name}_predict(x)]);"]
    share = "p[i] / 32768.0" if is_integer else "(double)p[i]"
    return [*lines, f"{name}_predict_proba(x, p);", loop, f'    printf(",%.17g", {share});']
