"""Model files: written in full, read for ever, refused when they are not right."""

import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import bneuralt
from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    Growth,
    NeuralTree,
    __version__,
    load_model,
)
from bneuralt.estimators.kinds import registered_kinds
from bneuralt.files import ModelFileError
from bneuralt.model.file_reading import OLDEST_VERSION
from bneuralt.model.file_writing import MODEL_VERSION
from bneuralt.training.losses import CrossEntropy
from bneuralt.training.optimizers import OPTIMIZERS, Adam, Momentum
from bneuralt.tree.activations import NAMES, Gaussian, LeakyReLU
from tests.helpers.flat import flat
from tests.helpers.kept_models import check_model
from tests.helpers.limits import complaints
from tests.helpers.paths import MODELS
from tests.helpers.tables import DIABETES, IRIS

SMALL = {"max_depth": 2, "max_epochs": 3, "random_state": 0}
KEPT = sorted(MODELS.glob("version_*/*.json"))
KEPT_TREES = sorted(MODELS.glob("version_*/trees/*.json"))


MODELS = [
    (flat(BNeuralTClassifier, **SMALL), IRIS),
    (flat(BNeuralTRegressor, **SMALL), DIABETES),
    (flat(BNeuralForestClassifier, n_estimators=3, **SMALL), IRIS),
    (flat(BNeuralForestRegressor, n_estimators=3, bootstrap=True, **SMALL), DIABETES),
]


@pytest.mark.parametrize(("model", "data"), MODELS, ids=lambda value: type(value).__name__)
def test_a_loaded_model_is_the_saved_one(model, data, tmp_path):
    X, y = data
    model = clone(model).fit(X, y)
    path = tmp_path / "model.json"
    model.save(path, extra={"note": ["any", 1, None]})
    loaded = load_model(path)
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, method):
            np.testing.assert_array_equal(getattr(loaded, method)(X), getattr(model, method)(X))
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    assert loaded.extra_ == {"note": ["any", 1, None]}
    assert loaded.n_parameters_ == model.n_parameters_
    again = tmp_path / "again.json"
    loaded.save(again, extra=loaded.extra_)
    assert again.read_text() == path.read_text()
    assert json.loads(path.read_text())["bneuralt"] == __version__


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_models_of_all_versions_load(path):
    check_model(path)


@pytest.mark.parametrize("path", KEPT_TREES, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_trees_of_all_versions_load(path):
    record = json.loads(path.with_suffix(".predictions").read_text())
    tree = NeuralTree.from_json(path.read_text())
    expected = np.array(record["predicted"])
    rtol, atol = (1e-12, 1e-14) if tree.dtype == np.float64 else (1e-5, 1e-6)
    outputs = tree.forward(np.array(record["rows"]))
    np.testing.assert_allclose(outputs, expected, rtol=rtol, atol=atol)


NUMBER = {"kind": "number", "mean": 0.5, "has_gaps": False, "limits": [-1.0, 1.0]}
CATEGORY = {
    "kind": "category",
    "categories": ["a", "b"],
    "shares": [0.5, 0.5],
    "rare": [],
    "has_gaps": False,
}
DATE = {"kind": "date", "parts": ["year"], "means": [1.0], "has_gaps": False, "day_first": False}


def test_a_model_of_each_kind_is_kept():
    kept = [json.loads(path.read_text()) for path in KEPT]
    assert {model["version"] for model in kept} == set(range(OLDEST_VERSION, MODEL_VERSION + 1))
    for version in range(OLDEST_VERSION, MODEL_VERSION + 1):
        kinds = {model["kind"] for model in kept if model["version"] == version}
        assert kinds == set(registered_kinds()) & set(dir(bneuralt))
    names = {name for path in KEPT_TREES for name in json.loads(path.read_text())["activation"]}
    assert names >= set(NAMES[:10])


def test_kept_models_have_their_settings():
    for folder in {path.parent for path in KEPT}:
        loaded = load_model(folder / "tree_classifier.json")
        check_settings(loaded)


def check_settings(loaded):
    assert loaded.training.optimizer == Adam(beta2=0.99)
    assert loaded.class_weight == {"setosa": 2.0, "virginica": 1.0}
    assert loaded.growth == Growth(max_depth=2) and loaded.max_epochs == 10


def test_files_of_other_versions_are_refused(saved, tmp_path):
    for version, message in ((1, "never part of a release"), (MODEL_VERSION + 1, "newer bneuralt")):
        with pytest.raises(ModelFileError, match=message):
            load_text(json.dumps({**json.loads(saved), "version": version}), tmp_path)


@pytest.mark.parametrize(
    "labels", [["no", "ü"], [False, True], [-5, 3], [1.0, 2.0], np.array(["x", "yy"], dtype=object)]
)
def test_labels_keep_their_type(labels, tmp_path):
    y = np.asarray(labels)[(IRIS[1] > 0).astype(int)]
    clf = flat(BNeuralTClassifier, **SMALL).fit(IRIS[0], y)
    clf.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.classes_.dtype == clf.classes_.dtype
    np.testing.assert_array_equal(loaded.predict(IRIS[0]), clf.predict(IRIS[0]))


def test_feature_names_are_kept(tmp_path):
    table = pd.DataFrame(IRIS[0], columns=["a", "b", "c", "größe"])
    flat(BNeuralTClassifier, **SMALL).fit(table, IRIS[1]).save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    loaded.predict(table)
    reordered = table[["größe", "a", "b", "c"]].assign(more="x")
    np.testing.assert_array_equal(loaded.predict(reordered), loaded.predict(table))
    with pytest.raises(ValueError, match=r"no column 'b', which the model needs"):
        loaded.predict(table.drop(columns="b"))


@pytest.mark.parametrize("optimizer", [*OPTIMIZERS, Momentum(gamma=0.5)])
def test_settings_are_kept(optimizer, tmp_path):
    settings = {
        **SMALL,
        "optimizer": optimizer,
        "class_weight": {0: 1.0, 1: 2.0, 2: np.float64(0.5)},
        "feature_sampling": [1, 2, 3, 4],
        "learning_rate": np.float32(0.25),
    }
    model = flat(BNeuralTClassifier, **settings).fit(*IRIS)
    model.save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").get_params() == model.get_params()


@pytest.mark.parametrize(
    "settings",
    [
        {"activation": "gaussian"},
        {"activation": LeakyReLU(slope=0.2)},
        {"activation": ["tanh", "relu"]},
        {"activation": ["tanh", Gaussian(width=2.0)], "train_activations": True},
        {"activation": [LeakyReLU(slope=0.2), LeakyReLU(slope=0.3)]},
        {"activation": {"tanh": 3, "relu": 1}},
        {"activation": {LeakyReLU(slope=0.2): 0.5, "tanh": np.float64(0.25)}},
        {"activation": {"tanh": 1.0}},
        {"loss": CrossEntropy(label_smoothing=0.2)},
        {"leaf_moves": 3, "schedule": "constant", "select": None, "clip_norm": 0.5},
        {"min_size": None, "max_size": 50, "init": "uniform"},
    ],
    ids=str,
)
def test_activations_and_losses_are_kept(settings, tmp_path):
    clf = flat(BNeuralTClassifier, **SMALL, **settings).fit(*IRIS)
    clf.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.get_params() == clf.get_params()
    assert loaded.tree_ == clf.tree_
    np.testing.assert_array_equal(loaded.predict_proba(IRIS[0]), clf.predict_proba(IRIS[0]))


def test_settings_that_json_cannot_hold_are_left_out(tmp_path):
    clf = BNeuralTClassifier(
        max_epochs=2,
        random_state=np.random.RandomState(0),
        growth=Growth(feature_sampling=lambda rng, leaves, *_: np.zeros(leaves.size, dtype=int)),
    )
    clf.fit(*IRIS).save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.random_state is None and loaded.growth.feature_sampling is None
    np.testing.assert_array_equal(loaded.predict(IRIS[0]), clf.predict(IRIS[0]))


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (flat(BNeuralTClassifier, **SMALL), IRIS),
        (flat(BNeuralTRegressor, **SMALL), DIABETES),
        (flat(BNeuralTRegressor, loss="poisson", scale="minmax", **SMALL), DIABETES),
        (flat(BNeuralTRegressor, train_activations=True, scale=None, **SMALL), DIABETES),
        (flat(BNeuralForestRegressor, n_estimators=2, **SMALL), DIABETES),
    ],
)
def test_a_loaded_tree_is_trained_further_as_the_saved_one(model, data, tmp_path):
    model = clone(model).fit(*data)
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    if not hasattr(model, "estimators_"):
        model.to_c(tmp_path / "a.h", name="m", learning="sgd")
        loaded.to_c(tmp_path / "b.h", name="m", learning="sgd")
        assert (tmp_path / "a.h").read_text() == (tmp_path / "b.h").read_text()
    np.testing.assert_array_equal(
        loaded.partial_fit(*data).predict(data[0]), model.partial_fit(*data).predict(data[0])
    )


def test_a_file_without_training_cannot_be_trained_further_and_says_so(tmp_path):
    path = tmp_path / "model.json"
    flat(BNeuralTClassifier, **SMALL).fit(*IRIS).save(path)
    content = json.loads(path.read_text())
    del content["training"]
    path.write_text(json.dumps(content))
    loaded = load_model(path)
    with pytest.raises(ValueError, match="cannot be trained further, since the scaling"):
        loaded.partial_fit(*IRIS)
    with pytest.raises(ValueError, match="cannot be trained further, since the scaling"):
        loaded.set_params(warm_start=True).fit(*IRIS)
    with pytest.raises(ValueError, match="cannot learn in C, since the scaling of its training"):
        loaded.to_c(tmp_path / "m.h", learning="sgd")
    loaded.set_params(warm_start=False).fit(*IRIS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"units": None}, '"units" of "training" is None, it must be "raw" or "scaled"'),
        ({"units": ["raw"]}, '"units" of "training" is'),
        ({"inputs": {"offset": [0.0] * 10}}, "factor"),
        ({"inputs": {"offset": [0.0] * 80, "factor": [None] * 80}}, '"factor" of "training"'),
        ({"inputs": [1.0]}, '"inputs" of "training" must be an object'),
        ({"target": None}, '"target" of "training" does not go with the loss'),
        ({"more": 1}, "more"),
    ],
)
def test_damaged_training_is_refused(change, message, tmp_path):
    path = tmp_path / "model.json"
    flat(BNeuralTRegressor, **SMALL).fit(*DIABETES).save(path)
    content = json.loads(path.read_text())
    content["training"] |= change
    path.write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=message):
        load_model(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"more": 1}, "more"),
        ({"seed": "1"}, '"recipe" has values of other types'),
        ({"reasons": [1]}, '"recipe" has values of other types'),
        ({"values": {"weight_decay": "large"}}, '"weight_decay" of "recipe" is'),
        ({"values": {"output_factor": -1.0}}, '"output_factor" of "recipe" is -1.0'),
        ({"values": {"growth": 3}}, '"recipe" cannot be read'),
        ({"values": {"training": {"optimizer": {"name": "sgd"}}}}, '"recipe" cannot be read'),
    ],
)
def test_damaged_recipes_are_refused(change, message, tmp_path):
    path = tmp_path / "model.json"
    flat(BNeuralTRegressor, **SMALL).fit(*DIABETES).save(path)
    content = json.loads(path.read_text())
    content["recipe"] |= change
    path.write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=message):
        load_model(path)


def test_recipes_are_kept(tmp_path):
    for model in (
        BNeuralTClassifier(max_epochs=20, random_state=0),
        flat(BNeuralForestClassifier, n_estimators=2, **SMALL, activation=["tanh", "gaussian"]),
    ):
        model.fit(*IRIS).save(tmp_path / "model.json")
        loaded = load_model(tmp_path / "model.json").recipe_
        assert repr(loaded) == repr(model.recipe_) and loaded.seed == model.recipe_.seed
        assert loaded.growth == model.recipe_.growth
        assert loaded.training == model.recipe_.training
        assert dict(loaded.values) == dict(model.recipe_.values)


def test_a_loaded_forest_can_get_more_trees(tmp_path):
    forest = flat(BNeuralForestClassifier, n_estimators=2, bootstrap=True, **SMALL).fit(*IRIS)
    forest.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json").set_params(n_estimators=4, warm_start=True)
    at_once = flat(BNeuralForestClassifier, n_estimators=4, bootstrap=True, **SMALL).fit(*IRIS)
    np.testing.assert_array_equal(loaded.fit(*IRIS).predict(IRIS[0]), at_once.predict(IRIS[0]))
    assert loaded.oob_score_ == at_once.oob_score_


def test_only_fitted_models_are_saved(tmp_path):
    with pytest.raises(NotFittedError):
        BNeuralTClassifier().save(tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


# -- files that are not right -------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.json"
    BNeuralForestClassifier(n_estimators=2, max_epochs=1, growth=Growth(max_depth=1)).fit(
        *IRIS
    ).save(path)
    return path.read_text()


def load_text(text, folder):
    path = folder / "bad.json"
    path.write_text(text)
    return load_model(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 5}, "version 5 of the bneuralt-model format.*install a newer bneuralt"),
        ({"format": "other"}, "not a bneuralt-model file: its \"format\" is 'other'"),
        ({"format": "bneuralt-tree"}, "its \"format\" is 'bneuralt-tree'"),
        ({"kind": "os.system"}, "\"kind\" is 'os.system', known are"),
        ({"kind": "BNeuralTClassifier"}, '"trees" has 2 trees: too few or too many'),
        ({"kind": "BNeuralForestRegressor"}, '"loss" is .*cross_entropy.* not one of numbers'),
        ({"loss": {"name": "squared"}}, '"loss"'),
        ({"loss": 3}, '"loss"'),
        ({"constraints": [1, 0, 0]}, '"constraints"'),
        ({"constraints": [2, 0, 0, 0]}, '"constraints"'),
        ({"interaction_sets": [[0, 9]]}, "interaction_sets has column 9"),
        ({"trees": []}, '"trees" has 0 trees'),
        ({"trees": {}}, '"trees" is not a list'),
        ({"trees": [3]}, r'"trees"\[0\] must be an object, not int'),
        ({"trees": [{}]}, r'"trees"\[0\] lacks the key'),
        ({"n_features": 5}, '"encoder" has 4 columns, the model has 5'),
        ({"encoder": None}, '"encoder" cannot be read: it is not a list'),
        ({"n_features": 5}, '"encoder" has 4 columns, the model has 5'),
        ({"encoder": {}}, '"encoder" cannot be read: it is not a list'),
        *(
            ({"encoder": [0.5, 0.5, 0.5, entry]}, f'"encoder" cannot be read: column 3.*{problem}')
            for entry, problem in (
                ("x", "not a finite number"),
                ({"kind": "word"}, "unknown kind 'word'"),
                ({"kind": []}, "unknown kind"),
                ({"kind": "number"}, "keys must be kind, mean"),
                ({**NUMBER, "mean": None}, "not a finite number"),
                ({**NUMBER, "has_gaps": 0}, "not true or false"),
                ({**NUMBER, "limits": [1, 0]}, "must be below the second"),
                ({**NUMBER, "ramps": [[0, 1]]}, "instead of 3 numbers"),
                ({**NUMBER, "ramps": [[1, 0, 0.5]]}, "not a rise"),
                ({**CATEGORY, "shares": [0.5]}, "2 numbers are needed"),
                ({**CATEGORY, "categories": ["a", 1]}, "list of texts"),
                ({**CATEGORY, "categories": ["a", "NA"]}, "stands for a missing value"),
                ({**CATEGORY, "rare": ["a"]}, "occurs twice"),
                ({**CATEGORY, "has_gaps": 1}, "not true or false"),
                ({**DATE, "parts": ["minute"]}, "parts"),
                ({**DATE, "means": []}, "a number for each part"),
                ({**DATE, "day_first": None}, "true or false"),
            )
        ),
        ({"encoder": [0.5, 0.5, 0.5, CATEGORY, 1.0]}, "has 5 columns, the model has 4"),
        ({"ranges": [[0, 1]]}, '"ranges" cannot be read: .* each of the 4 columns'),
        *(
            ({"ranges": [None, None, None, entry]}, "column 3, a number, is|not a finite number")
            for entry in (
                3,
                [1],
                [2, 1],
                [0, "x"],
                [True, True],
                ["2024-01-01", "2024-01-02"],
                [0, 10**400],
            )
        ),
        ({"history": [1]}, '"history" is not a dict'),
        ({"history": {"train_loss": [10**400]}}, r'"history"\."train_loss"\[0\] is not a finite'),
        ({"history": {"weights": [1]}}, '"history" has no valid weights'),
        ({"history": {"train_loss": [1, "x"]}}, '"history" has no valid train_loss'),
        ({"n_features": "4"}, "\"n_features\" is '4'"),
        ({"feature_names": ["a"]}, '"feature_names" must be a list of 4 texts'),
        ({"classes": None}, '"classes" must be an object'),
        ({"classes": {"dtype": "int64", "labels": [0, 1]}}, "has 3 outputs, the model needs 2"),
        ({"classes": {"dtype": "int64", "labels": [0, 1, 1]}}, "two or more different labels"),
        ({"classes": {"dtype": "int64", "labels": ["a", "b", "c"]}}, "labels of one type"),
        ({"classes": {"dtype": "M8[s]", "labels": [0, 1, 2]}}, "labels of one type"),
        ({"classes": {"dtype": "nonsense", "labels": [0, 1, 2]}}, "labels of one type"),
        ({"classes": {"dtype": "U300000000", "labels": ["a", "b", "c"]}}, "labels of one type"),
        ({"classes": {"dtype": "(2,", "labels": ["a", "b", "c"]}}, "labels of one type"),
        ({"classes": {"dtype": ["str"], "labels": ["a", "b", "c"]}}, "labels of one type"),
        ({"classes": {"dtype": "str", "labels": [1, 2, 3]}}, "labels of one type"),
        ({"classes": {"dtype": "int8", "labels": [1, 2, 300]}}, "labels of one type"),
        ({"classes": {"dtype": "uint8", "labels": [-1, 2, 3]}}, "labels of one type"),
        ({"classes": {"dtype": "int64", "labels": [0, 1, 2**64]}}, "labels of one type"),
        ({"classes": {"dtype": "int64", "labels": [0, 1, 1.5]}}, "labels of one type"),
        ({"classes": {"dtype": "float32", "labels": [0, 1, 1e300]}}, "labels of one type"),
        ({"classes": {"dtype": "float64", "labels": [0, 1, 10**400]}}, "not a finite number"),
        ({"classes": {"dtype": "float32", "labels": [0, 1, 1 + 1e-12]}}, "different labels"),
        ({"classes": {"dtype": "object", "labels": [["a"], ["b"], ["c"]]}}, "labels of one type"),
        ({"n_features": 10**8}, '"encoder" has 4 columns, the model has 100000000'),
        ({"settings": {"n_jobs": "x"}}, '"settings" cannot be read: .*n_jobs'),
        ({"settings": {"n_jobs": 0}}, '"settings" cannot be read: .*n_jobs'),
        ({"settings": {"growth": {"max_depth": "x"}}}, '"settings" cannot be read: .*max_depth'),
        ({"settings": {"max_epochs": [1]}}, '"settings" cannot be read: .*max_epochs'),
        ({"settings": {"class_weight": [[0, "x"]]}}, '"settings" cannot be read: .*weight'),
        (
            {"settings": {"growth": {"activation": ["tanh", "swish"]}}},
            '"settings" cannot be read: .*swish',
        ),
        *(
            (
                {
                    "settings": {
                        "growth": {"feature_sampling": {"name": "receptive_fields", **wrong}}
                    }
                },
                "settings",
            )
            for wrong in (
                {"shape": [2, 2], "spread": []},
                {"shape": [2, 2], "spread": None},
                {"shape": [2, 2], "depth": "x"},
                {"shape": 4},
                {},
            )
        ),
        ({"settings": []}, '"settings" is not a dict'),
        ({"settings": {"growth": 3}}, '"settings" cannot be read'),
        ({"settings": {"training": {"moving_share": 5}}}, "moving_share is 5, it must be"),
        ({"settings": {"learning_rate": 0.1, "training": {"learning_rate": 0.2}}}, "both given"),
        (
            {"settings": {"training": {"optimizer": {"name": "sgd"}}}},
            '"settings" cannot be read: .*sgd',
        ),
        ({"settings": {"loss": {"name": "huber", "delta": -1}}}, "cannot be read: Huber: delta=-1"),
        ({"settings": {"loss": {"name": []}}}, '"settings" cannot be read'),
        (
            {"settings": {"growth": {"activation": {"name": "relu", "slope": 1}}}},
            "ReLU has no parameter",
        ),
        (
            {"settings": {"growth": {"activation": [{"name": "swish"}]}}},
            '"settings" cannot be read: .*swish',
        ),
        ({"settings": {"growth": {"activation": [[[], 1.0]]}}}, '"settings" cannot be read'),
        ({"extra": None}, '"extra" is not a dict'),
        ({"surplus": 1}, "does not belong there: 'surplus'"),
    ],
)
def test_contents_that_are_not_right(saved, change, message, tmp_path):
    with pytest.raises(ModelFileError, match=message) as caught:
        load_text(json.dumps({**json.loads(saved), **change}), tmp_path)
    assert "bad.json: " in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [("n_iter", None), ("n_iter", -1), ("n_iter", True), ("best_epoch", "1"), ("random_state", -1),
     ("n_iter", 2**63), ("best_epoch", 2**63), ("random_state", 2**32)],
)  # fmt: skip
def test_numbers_of_trees_that_are_not_right(saved, key, value, tmp_path):
    data = json.loads(saved)
    data["trees"][1][key] = value
    with pytest.raises(ModelFileError, match=rf'"{key}" of "trees"\[1\] is'):
        load_text(json.dumps(data), tmp_path)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64"])
def test_labels_at_the_ends_of_their_dtype(saved, dtype, tmp_path):
    ends = np.iinfo(dtype)
    labels = [int(ends.min), 1, int(ends.max)]
    data = {**json.loads(saved), "classes": {"dtype": dtype, "labels": labels}}
    model = load_text(json.dumps(data), tmp_path)
    assert model.classes_.tolist() == labels and model.classes_.dtype == dtype


@pytest.mark.parametrize(
    ("key", "value"),
    [("n_iter", 0), ("n_iter", 2**63 - 1), ("best_epoch", None), ("best_epoch", 0),
     ("best_epoch", 2**63 - 1), ("random_state", None), ("random_state", 2**32 - 1)],
)  # fmt: skip
def test_numbers_of_trees_at_the_ends_of_their_ranges(saved, key, value, tmp_path):
    data = json.loads(saved)
    data["trees"][1][key] = value
    member = load_text(json.dumps(data), tmp_path).estimators_[1]
    assert getattr(member, key if key == "random_state" else f"{key}_") == value


def test_settings_unknown_to_this_release_are_ignored(saved, tmp_path):
    data = json.loads(saved)
    data["settings"]["setting_of_the_future"] = {"any": ["thing"]}
    assert (
        load_text(json.dumps(data), tmp_path).get_params()
        == load_text(saved, tmp_path).get_params()
    )


def test_one_long_label_does_not_make_all_labels_long(saved, tmp_path):
    data = json.loads(saved)
    data["classes"] = {"dtype": "str", "labels": ["a", "b", "c" * 50_000_000]}
    with pytest.raises(ModelFileError, match="too long"):
        load_text(json.dumps(data), tmp_path)


@given(share=st.floats(0, 0.999))
def test_files_cut_anywhere_are_refused(saved, tmp_path_factory, share):
    folder = tmp_path_factory.mktemp("cut")
    with pytest.raises(ModelFileError, match=r"bad\.json: "):
        load_text(saved[: int(share * len(saved))], folder)


def test_files_that_are_not_ours(tmp_path):
    for text in ("", "[1, 2]", "id,age\n1,2\n", '{"a": 1}', "null"):
        with pytest.raises(ModelFileError, match=r"bad\.json: "):
            load_text(text, tmp_path)
    binary = tmp_path / "model.pkl"
    binary.write_bytes(b"\x80\x04\x95\xff")
    with pytest.raises(ModelFileError, match=r"model\.pkl: .* it is not text"):
        load_model(binary)
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "none.json")


def test_a_save_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.json"
    clf = flat(BNeuralTClassifier, **SMALL).fit(*IRIS)
    clf.save(path)
    before = path.read_text()
    with pytest.raises(TypeError):
        clf.save(path, extra={"not": object()})
    assert path.read_text() == before and os.listdir(tmp_path) == ["model.json"]


def test_a_killed_save_leaves_no_half_of_a_file(tmp_path):
    code = """
import os, signal, sys, threading
from sklearn.datasets import load_iris
from bneuralt import BNeuralTClassifier
clf = BNeuralTClassifier(max_epochs=1, random_state=0).fit(*load_iris(return_X_y=True))
clf.save(sys.argv[1])
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
while True:
    clf.save(sys.argv[1])
"""
    path = tmp_path / "model.json"
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_model(path).predict(IRIS[0]).shape == (150,)


def test_damaged_files_are_refused_or_predict():
    assert complaints("tests.tools.fuzz_files", 0, 300) == []


def test_a_kind_of_another_package_is_found_by_its_entry_point_only(tmp_path, monkeypatch):
    package = tmp_path / "another_package"
    metadata = tmp_path / "another_package-1.dist-info"
    package.mkdir()
    metadata.mkdir()
    (package / "__init__.py").write_text(
        "from bneuralt import BNeuralTClassifier\n"
        "from bneuralt.estimators.kinds import register_kind\n"
        "@register_kind\n"
        "class AnotherClassifier(BNeuralTClassifier): pass\n"
    )
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: another_package\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(
        "[bneuralt.estimators]\nAnotherClassifier = another_package:AnotherClassifier\n"
    )
    path = tmp_path / "model.json"
    flat(BNeuralTClassifier, **SMALL).fit(*IRIS).save(path)
    text = path.read_text()
    for kind in ("AnotherClassifier", "another_package", "os", "../os", "sklearn.svm:SVC"):
        path.write_text(text.replace("BNeuralTClassifier", kind))
        with pytest.raises(ModelFileError, match='"kind" is'):
            load_model(path)
    monkeypatch.syspath_prepend(tmp_path)
    path.write_text(text.replace("BNeuralTClassifier", "AnotherClassifier"))
    loaded = load_model(path)
    assert type(loaded).__module__ == "another_package" and loaded.predict(IRIS[0]).shape == (150,)
    loaded.save(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text())["kind"] == "AnotherClassifier"
