"""The table of export targets fits the functions that it names."""

import importlib
from inspect import signature

import pytest

from bneuralt import BNeuralTClassifier
from bneuralt.export.sql import DIALECTS
from bneuralt.export.targets import TARGETS


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_options_are_parameters_of_the_function(target):
    module, name = target.function.split(":")
    function = getattr(importlib.import_module(f"bneuralt.export.{module}"), name)
    parameters = signature(function).parameters
    assert {option.name for option in target.options} - {"data"} <= parameters.keys()
    for option in target.options:
        if option.sets is not None:
            assert parameters[option.name].default is not option.sets
        if option.choices and option.name in parameters:
            assert parameters[option.name].default in (*option.choices, None)


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_methods_have_the_parameters_of_the_function(target):
    parameters = signature(getattr(BNeuralTClassifier, f"to_{target.name}")).parameters
    assert {option.name for option in target.options} - {"data"} <= parameters.keys()


def test_dialects_are_those_of_sql():
    (dialect,) = (option for option in TARGETS["sql"].options if option.name == "dialect")
    assert dialect.choices == tuple(DIALECTS)
