"""A program in C that predicts the rows of a CSV file with generated code."""

from __future__ import annotations

from string import Template

from bneuralt.export import c_main_text as text
from bneuralt.export.c_features import CFeature
from bneuralt.export.c_text import c_string
from bneuralt.export.plan import Plan
from bneuralt.tables.features import CategoryFeature, DateFeature

__all__ = ["main_program"]

_PARTS = ("year", "month", "weekday", "hour")


def main_program(
    plan: Plan, features: list[CFeature], name: str, header: str, is_integer: bool
) -> str:
    """Return a C program that includes generated code and predicts the rows of a CSV file.

    Parameters
    ----------
    plan : Plan
    features : list of CFeature
    name : str
        Prefix of the generated code.
    header : str
        Name of its header.
    is_integer : bool
        Whether its features are whole numbers.
    """
    kinds, firsts, parts, n_parts = [], [], [], []
    at = 0
    for column in plan.columns:
        feature = column.feature
        firsts.append(str(at))
        listed = feature.parts if isinstance(feature, DateFeature) else ()
        parts.append("{" + (", ".join(str(_PARTS.index(part)) for part in listed) or "0") + "}")
        n_parts.append(str(len(listed)))
        if isinstance(feature, DateFeature):
            kinds.append("DATE")
            at += len(listed) or len(column.inputs)
        else:
            kinds.append("CATEGORY" if isinstance(feature, CategoryFeature) else "NUMBER")
            at += 1
    has_date = "DATE" in kinds
    has_category = any(feature.categories for feature in features)
    tables = (
        f"static const int date_parts[N_COLUMNS][4] = {{{', '.join(parts)}}};\n"
        f"static const int date_n_parts[N_COLUMNS] = {{{', '.join(n_parts)}}};"
    )
    names = {
        "NAME": name,
        "UPPER": name.upper(),
        "header": header,
        "program": name,
        "n_columns": len(plan.columns),
        "column_names": ",\n".join(f"    {c_string(column.name)}" for column in plan.columns),
        "column_kinds": ", ".join(kinds),
        "column_features": ", ".join(firsts),
        "date_tables": tables if has_date else "",
        "category_code": Template(text.CATEGORY).substitute(NAME=name) if has_category else "",
        "date_code": text.DATE if has_date else "",
        "read_category": text.READ_CATEGORY if has_category else "",
        "read_date": text.READ_DATE if has_date else "",
        "convert": f"{name}_quantize(i, values[i])" if is_integer else f"({name}_input)values[i]",
        "print_text": text.PRINT_TEXT if plan.task == "classes" else "",
        "predict": _predict(plan, name, is_integer),
    }
    return Template(text.MAIN).substitute(names)


def _predict(plan: Plan, name: str, is_integer: bool) -> str:
    """Return the statements that print the prediction for a row."""
    k = plan.n_outputs
    real = f"{name}_input"
    loop = f"for (i = 0; i < {k}; i++)"
    lines = []
    if plan.task == "numbers":
        type_ = "int32_t" if is_integer else real
        shown = f"{name}_value({{i}}, {{y}})" if is_integer else "(double){y}"
        if k == 1:
            lines = [f'printf("%.17g", {shown.format(i=0, y=f"{name}_predict(x)")});']
        else:
            lines = [f"{type_} y[{k}];", f"{name}_predict(x, y);", loop]
            lines += [f'    printf(i ? ",%.17g" : "%.17g", {shown.format(i="i", y="y[i]")});']
    else:
        probability = "uint16_t" if is_integer else real
        shown = "p[i] / 32768.0" if is_integer else "(double)p[i]"
        lines = [f"{probability} p[{k}];"]
        if plan.task == "labels":
            byte = "uint8_t" if is_integer else "unsigned char"
            lines += [f"{byte} has[{k}];", f"{name}_predict(x, has);", loop]
            lines += ['    printf(i ? " %d" : "%d", has[i]);']
        else:
            lines += [f"print_text({name}_output_names[{name}_predict(x)]);"]
        lines += [f"{name}_predict_proba(x, p);", loop, f'    printf(",%.17g", {shown});']
    return "\n".join(f"            {line}" for line in lines)
