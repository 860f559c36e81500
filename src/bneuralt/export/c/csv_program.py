"""A program in C that predicts the rows of a CSV file with generated code."""

from __future__ import annotations

from string import Template

from bneuralt.export.c import csv_templates as templates
from bneuralt.export.c.features import CRow
from bneuralt.export.c.literals import c_string
from bneuralt.expressions import Expression, is_elementwise
from bneuralt.model import Model

__all__ = ["csv_program"]

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
        What becomes of the sums that integer code returns.
    """
    columns, features = row.model.columns, row.features
    kinds = [_KINDS.get(feature.reads, feature.reads.upper()) for feature in features]
    parts = templates.DATE_PARTS
    has_date = any(feature.reads in parts for feature in features)
    cases = [f"    case {part.upper()}:\n        return {text};" for part, text in parts.items()]
    has_category = any(feature.texts for feature in features)
    position = "category(i, text)" if has_category else "-1"
    date = Template(templates.DATE).substitute(date_parts="\n".join(cases))
    names = {
        "NAME": name,
        "UPPER": name.upper(),
        "header": header,
        "program": name,
        "n_columns": len(columns),
        "column_names": ",\n".join(f"    {c_string(column.name)}" for column in columns),
        "cell_kinds": ", ".join([*_KINDS.values(), *map(str.upper, parts)]),
        "feature_columns": ", ".join(str(feature.column) for feature in features),
        "feature_kinds": ", ".join(kinds),
        "category_code": Template(templates.CATEGORY).substitute(NAME=name) * has_category,
        "date_code": date if has_date else "",
        "read_category": Template(templates.READ_CATEGORY).substitute(position=position),
        "read_date": templates.READ_DATE if has_date else "",
        "convert": f"({name}_input)values[i]",
        "print_text": templates.PRINT_TEXT if row.model.task == "classes" else "",
        "predict": _predict(row.model, name, row.is_integer, is_elementwise(of_means)),
    }
    if row.is_integer:
        names["convert"] = f"{name}_quantize(i, values[i])"
    return Template(templates.MAIN).substitute(names)


def _predict(model: Model, name: str, is_integer: bool, by_themselves: bool) -> str:
    """Return the statements that print the prediction for a row.

    Integer code returns sums, which become numbers by themselves or all together.
    """
    k = model.n_outputs
    real, loop = f"{name}_input", f"for (i = 0; i < {k}; i++)"
    if model.task == "numbers":
        type_ = "int32_t" if is_integer else real
        shown = f"{name}_value({{i}}, {{y}})" if is_integer else "(double){y}"
        if k == 1 and by_themselves:
            lines = [f'printf("%.17g", {shown.format(i=0, y=f"{name}_predict(x)")});']
        else:
            lines = [f"{type_} y[{k}];"]
            lines += [f"y[0] = {name}_predict(x);" if k == 1 else f"{name}_predict(x, y);"]
            if not by_themselves:
                lines.insert(1, f"double values_of[{k}];")
                lines.append(f"{name}_values(y, values_of);")
                shown = "values_of[{i}]"
            text = shown.format(i="i", y="y[i]")
            lines += [loop, f'    printf(i ? ",%.17g" : "%.17g", {text});']
    else:
        lines = [f"{'uint16_t' if is_integer else real} p[{k}];"]
        if model.task == "labels":
            byte = "uint8_t" if is_integer else "unsigned char"
            lines += [f"{byte} has[{k}];", f"{name}_predict(x, has);", loop]
            lines += ['    printf(i ? " %d" : "%d", has[i]);']
        else:
            lines += [f"print_text({name}_output_names[{name}_predict(x)]);"]
        shown = "p[i] / 32768.0" if is_integer else "(double)p[i]"
        lines += [f"{name}_predict_proba(x, p);", loop, f'    printf(",%.17g", {shown});']
    return "\n".join(f"            {line}" for line in lines)
