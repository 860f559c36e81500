"""Defaults that docstrings state are those of the signatures."""

import ast
import inspect
import re

import bneuralt

STATED = re.compile(r"^ *([\w, ]+) : .*\bdefault[ =]([^\s,]+)$", re.MULTILINE)


def public_functions():
    """Yield functions and methods of the public names, each with its full name."""
    for name in bneuralt.__all__:
        value = getattr(bneuralt, name)
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value):
            yield name, value
            for method in dir(value):
                if not method.startswith("_") and inspect.isfunction(getattr(value, method)):
                    yield f"{name}.{method}", getattr(value, method)


def test_stated_defaults():
    n_stated = 0
    for name, function in public_functions():
        defaults = inspect.signature(function).parameters
        for names, stated in STATED.findall(inspect.getdoc(function) or ""):
            for parameter in re.split(", *", names):
                if parameter not in defaults:
                    continue
                try:
                    value = ast.literal_eval(stated)
                except (ValueError, SyntaxError):
                    continue
                n_stated += 1
                default = defaults[parameter].default
                assert default == value and type(default) is type(value), (name, parameter, stated)
    assert n_stated > 30
