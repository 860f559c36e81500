"""Names of experiments: the paper's list, and conversion to settings and back."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt_paper.experiments.definitions import (
    ADDITIONS,
    ALL_EXPERIMENTS,
    GROUPS,
    OPTIMIZERS,
    BNeuralTExperiment,
    MLPExperiment,
    parse_experiment,
    select_experiments,
)


def test_the_paper_has_110_experiments_of_which_107_run() -> None:
    assert len(set(ALL_EXPERIMENTS)) == len(ALL_EXPERIMENTS) == 110
    kinds = [parse_experiment(name).kind for name in ALL_EXPERIMENTS]
    assert [kinds.count(k) for k in ("bneuralt", "mlp", "baseline", "evolved")] == [30, 72, 5, 3]


def test_names_are_those_printed_in_tables_a2_and_a3(shared) -> None:
    text = (shared / "paper" / "backpropagation-neural-tree.tex").read_text()
    text = text.replace("HFNT$^{\\text{S}}$", "HFNT-S").replace("HFNT$^{\\text{M}}$", "HFNT-M")
    tables = text[text.index("\\label{tab:All_experiments_A}") :]
    tables = tables[: tables.index("Wilcoxon")]
    printed = re.findall(r"^\s*(?:\\text\w\w\{)?([A-Z][\w-]*)\}? &.*&.*\\\\", tables, re.MULTILINE)
    printed = [name for name in printed if name != "Overall"]
    assert len(printed) == 109
    assert set(printed) == set(ALL_EXPERIMENTS) - {"MONT3"}


@pytest.mark.parametrize("name", ALL_EXPERIMENTS + ADDITIONS)
def test_every_name_is_parsed_and_printed_back(name: str) -> None:
    experiment = parse_experiment(name)
    assert experiment.name == name
    assert (experiment.name in ALL_EXPERIMENTS) != (name in ADDITIONS)
    assert json.loads(json.dumps(experiment.settings()))["kind"] == experiment.kind


optimizers = st.sampled_from(sorted(OPTIMIZERS.values()))
activations = st.sampled_from(["sigmoid", "relu"])
trees = st.builds(
    BNeuralTExperiment,
    optimizers,
    activation=activations,
    early_stopping=st.booleans(),
    leaf_probability=st.integers(1, 9).map(lambda i: i / 10),
    default_rate=st.booleans(),
)
mlps = st.builds(
    MLPExperiment,
    optimizers,
    activation=activations,
    stopping=st.sampled_from(["patience", "never", "epoch", "update"]),
    regularised=st.booleans(),
    default_rate=st.booleans(),
    dropout=st.booleans(),
)


@given(trees | mlps)
def test_settings_to_name_and_back(experiment) -> None:
    assert parse_experiment(experiment.name) == experiment


def test_settings_of_some_names() -> None:
    best = parse_experiment("B-S-ESy-p4-R")
    assert best == BNeuralTExperiment("rmsprop", leaf_probability=0.4)
    assert (best.learning_rate, best.max_epochs, best.max_children) == (0.1, 500, 5)
    assert parse_experiment("B-S-ESn-N") == BNeuralTExperiment("nesterov", early_stopping=False)
    assert parse_experiment("B-S-ESy-p5-L-M").learning_rate == 0.01
    assert parse_experiment("B-S-ESy-p5-L-D").learning_rate == 0.001
    assert parse_experiment("B-R-ESy-p5-A").activation == "relu"
    dropout = parse_experiment("M-S-ESn-Rn-L-Dr-D")
    assert dropout == MLPExperiment("adam", stopping="never", default_rate=True, dropout=True)
    assert (dropout.dropout_rate, dropout.penalty, dropout.learning_rate) == (0.4, 0.0, 0.001)
    assert parse_experiment("M-S-ESn-Ry-L-G").penalty == 0.01


@pytest.mark.parametrize(
    "name", ["", "B-S-ESy-p4", "B-T-ESy-p4-R", "M-S-ESy-R", "b-s-esy-p4-r", "X"]
)
def test_unknown_names_are_named_in_the_error(name: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(name))):
        parse_experiment(name)


def test_groups_and_patterns() -> None:
    assert [e.name for e in select_experiments("best")] == [f"B-S-ESy-p4-{o}" for o in "GMNARD"]
    assert len(select_experiments("table2")) == 6 + 7 + 5 + 3
    assert len(select_experiments("all")) == 110
    assert [e.name for e in select_experiments("NBC,baselines,DT")] == [
        "NBC",
        "DT",
        "RF",
        "GP",
        "SVM",
    ]
    assert select_experiments(["NBC", "DT"]) == select_experiments(" NBC, DT,")
    assert {e.name for e in select_experiments("M-S-ESu-*")} == {
        f"M-S-ESu-Rn-L-{o}" for o in "GMNARD"
    }
    for names in GROUPS.values():
        assert all(parse_experiment(name).name == name for name in names)


@pytest.mark.parametrize("patterns", ["", " , ", []])
def test_an_empty_selection_is_an_error(patterns) -> None:
    with pytest.raises(ValueError, match="none selected"):
        select_experiments(patterns)


def test_a_pattern_without_a_match_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"'Q-\*'"):
        select_experiments("Q-*")
