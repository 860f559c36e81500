"""The name of the target is kept, and drawings, pages, explanations and files use it."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import is_classifier

import bneuralt
from bneuralt import BNeuralForestRegressor, BNeuralTClassifier, BNeuralTRegressor, load_model
from bneuralt.estimators.kinds import find_class, registered_kinds
from bneuralt.files import ModelFileError

pl = pytest.importorskip("polars")  # there are no wheels for free-threaded Pythons

KINDS = [find_class(kind) for kind in registered_kinds() if hasattr(bneuralt, kind)]
X = np.random.default_rng(0).normal(size=(60, 3))
PRICE = X[:, 0] + 2
FAST = {"n_generations": 1, "population_size": 4, "n_estimators": 2, "max_epochs": 2}


def small(kind, **parameters):
    names = kind().get_params()
    return kind(random_state=0, **{k: v for k, v in FAST.items() if k in names}, **parameters)


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(PRICE, name="price"),
        pd.DataFrame({"price": PRICE}),
        pl.Series("price", PRICE),
        pl.DataFrame({"price": PRICE}),
        pa.table({"price": PRICE}),
    ],
    ids=["pandas", "pandas frame", "polars", "polars frame", "arrow"],
)
@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_names_of_all_forms_are_kept(y):
    assert small(BNeuralTRegressor).fit(X, y).target_names_ == ("price",)


@pytest.mark.parametrize(
    "y",
    [PRICE, PRICE.tolist(), pd.Series(PRICE), pd.Series(PRICE, name=4), pl.Series(PRICE)],
    ids=["array", "list", "Series", "number", "polars"],
)
def test_without_a_name_the_target_is_called_y(y):
    model = small(BNeuralTRegressor).fit(X, pd.Series(PRICE, name="price")).fit(X, y)
    assert model.target_names_ == ()
    assert model.model_.output_names == ("y",)
    assert model.explain(X[:2]).output_names == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_files_hold_the_name(kind, tmp_path):
    y = pd.Series(PRICE > 2 if is_classifier(kind()) else PRICE, name="price")
    model = small(kind).fit(X, y)
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.target_names_ == loaded.model_.target_names == ("price",)
    content = json.loads((tmp_path / "model.json").read_text())
    del content["target_names"]  # may be absent
    (tmp_path / "model.json").write_text(json.dumps(content))
    assert load_model(tmp_path / "model.json").target_names_ == ()
    for names in ("price", [], ["price", "size"], [3], [""], {"price": 1}):
        (tmp_path / "model.json").write_text(json.dumps({**content, "target_names": names}))
        with pytest.raises(ModelFileError, match='"target_names"'):
            load_model(tmp_path / "model.json")


def test_drawings_pages_and_explanations_use_the_name():
    pytest.importorskip("matplotlib")
    model = small(BNeuralTRegressor, n_weights=10).fit(X, pd.Series(PRICE, name="price"))
    assert model.model_.output_names == ("price",)
    assert model.to_formula().startswith("price = ")
    assert '"price"' in model.to_html() and "price" in model._repr_svg_()
    explanation = model.explain(X[:3])
    assert explanation.sentence().endswith(" for price")
    assert explanation.plot("waterfall", row=0).get_xlabel().startswith("prediction of price ")
    assert explanation.of_output("price") == 0


def test_counts_have_the_name_and_their_logarithm_is_drawn():
    y = pd.Series(np.round(PRICE - PRICE.min()), name="visits")
    model = small(BNeuralTRegressor, loss="poisson", n_weights=10).fit(X, y)
    assert model.to_formula().startswith("log visits = ")


def test_several_targets_keep_their_names():
    y = pd.DataFrame({"price": PRICE, "size": X[:, 1]})
    numbers = small(BNeuralForestRegressor).fit(X, y)
    labels = small(BNeuralTClassifier).fit(X, (y > 0).astype(int))
    for model in (numbers, labels):
        assert model.model_.output_names == ("price", "size")
        assert model.explain(X[:2]).output_names == ["price", "size"]


def test_names_of_classes_are_their_labels():
    model = small(BNeuralTClassifier).fit(X, pd.Series(np.where(PRICE > 2, "a", "b"), name="kind"))
    assert model.target_names_ == ("kind",) and model.model_.output_names == ("a", "b")


def test_names_are_kept_by_smaller_models_and_by_partial_fit():
    y = pd.Series(PRICE, name="price")
    model = small(BNeuralTRegressor).fit(X, y)
    assert model.compact(X, y, max_weights=20).target_names_ == ("price",)
    assert model.simplify().target_names_ == ("price",)
    assert BNeuralTRegressor(random_state=0).partial_fit(X, y).target_names_ == ("price",)


def test_the_program_keeps_the_name_of_the_column(tmp_path, capsys):
    from bneuralt.cli.program import main

    data, model = tmp_path / "houses.csv", tmp_path / "model.json"
    pd.DataFrame(X, columns=["a", "b", "c"]).assign(price=PRICE).to_csv(data, index=False)
    options = ["--target", "price", "--cv", "0", "--set", "n_weights=10"]
    assert main(["train", str(data), *options, "--out", str(model)]) == 0
    assert load_model(model).model_.output_names == ("price",)
    assert main(["draw", str(model), "--out", str(tmp_path / "page.html")]) == 0
    assert '"price"' in (tmp_path / "page.html").read_text()
