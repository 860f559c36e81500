"""What the parameters of estimators may be, their defaults, and those inside of objects."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import InvalidParameterError

from bneuralt import (
    PAPER_SETTINGS,
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    EvolvedTreeClassifier,
    EvolvedTreeRegressor,
    Growth,
    TrainingSettings,
    load_model,
)
from bneuralt.estimators.base import OBJECTS as NESTED
from bneuralt.estimators.kinds import find_class, registered_kinds
from bneuralt.training.losses import CrossEntropy, Huber
from bneuralt.training.optimizers import RMSprop
from tests.helpers.flat import flat
from tests.helpers.tables import DIABETES, IRIS

TREES = [BNeuralTClassifier, BNeuralTRegressor]
FORESTS = [BNeuralForestClassifier, BNeuralForestRegressor]
EVOLVED = [EvolvedTreeClassifier, EvolvedTreeRegressor]
KINDS = [*TREES, *FORESTS, *EVOLVED]

WHOLE = ("max_depth", "max_children", "min_children", "max_size", "n_weights", "n_init",
         "max_weights", "leaf_moves", "patience", "n_estimators", "max_epochs", "batch_size",
         "min_size", "max_samples", "max_features", "n_joined")  # fmt: skip

# the least whole number that is allowed
LEAST = {"max_depth": 0, "max_children": 2, "n_weights": 3, "max_weights": 2, "leaf_moves": 0,
         "max_epochs": 0}  # fmt: skip

# the ends of the range of a number, and whether they belong to it
RANGES = {
    "leaf_probability": (0.0, True, 1.0, True),
    "min_size": (0.0, True, 1.0, True),
    "init_scale": (0.0, True, None, False),
    "learning_rate": (0.0, False, None, False),
    "weight_decay": (0.0, True, None, False),
    "output_factor": (0.0, True, None, False),
    "ramp_fraction": (0.0, True, 1.0, True),
    "clip_norm": (0.0, False, None, False),
    "validation_fraction": (0.0, False, 1.0, False),
    "max_samples": (0.0, False, 1.0, True),
    "max_features": (0.0, False, 1.0, True),
    "moving_share": (0.0, True, 1.0, True),
}
OPTIONAL = ("min_size", "max_size", "n_weights", "feature_sampling", "clip_norm", "batch_size",
            "select", "scale", "class_weight", "random_state", "n_jobs", "patience", "block_rows",
            "max_samples", "max_features", "categorical_features", "leaf_probability", "max_depth",
            "monotonic_cst", "interaction_cst", "max_weights", "growth", "training",
            "sentinels", "linear_penalty")  # fmt: skip
NAMES = {name.rpartition("__")[2] for name in BNeuralForestClassifier().get_params()}


def is_allowed(name, value):
    try:
        flat(BNeuralForestClassifier, **{name: value})._validate_params()
    except (TypeError, ValueError) as error:
        assert name in str(error)
        return False
    return True


@pytest.mark.parametrize("name", WHOLE)
def test_the_least_whole_number(name):
    least = LEAST.get(name, 1)
    assert is_allowed(name, least) and is_allowed(name, np.int64(least + 5))
    assert not is_allowed(name, least - 1)
    assert not is_allowed(name, "many")


@pytest.mark.parametrize("name", RANGES)
def test_the_ends_of_ranges(name):
    low, has_low, high, has_high = RANGES[name]
    assert is_allowed(name, low) == has_low
    assert is_allowed(name, 1e-9) and not is_allowed(name, -1e-9)
    assert is_allowed(name, 0.999)
    if high is None:
        assert is_allowed(name, 1e9)
    else:
        assert is_allowed(name, high) == has_high and not is_allowed(name, high + 1e-9)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_nothing_is_allowed_where_it_means_something(name):
    assert is_allowed(name, None) == (name in OPTIONAL)


def test_an_unfit_value_is_refused():
    with pytest.raises(InvalidParameterError, match=r"'max_depth' parameter of Growth .* Got -1"):
        Growth(max_depth=-1)
    with pytest.raises(InvalidParameterError, match="'growth' parameter of BNeuralTRegressor"):
        BNeuralTRegressor(growth={"max_depth": 1}).fit(*DIABETES)


def test_there_are_few_parameters():
    assert all(len(kind().get_params(deep=False)) <= 26 for kind in TREES)
    assert all(len(kind().get_params(deep=False)) <= 30 for kind in FORESTS)
    assert all(len(kind().get_params(deep=False)) <= 25 for kind in EVOLVED)


def test_defaults():
    models = [kind() for kind in (*TREES, *FORESTS)]
    assert [model.n_estimators for model in models[2:]] == [10, 10]
    for model in models:
        assert model.verbose == 0 and model.n_jobs is None and model.random_state is None
        assert model.warm_start is False and model.early_stopping is False
        assert model.growth is None and model.training is None
    for forest in models[2:]:
        assert forest.bootstrap is False and forest.max_samples is None


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_is_described_with_its_default(kind):
    for name, value in kind().get_params(deep=False).items():
        assert f"{name} : " in kind.__doc__ and f"default={value!r}" in kind.__doc__
    assert "{parameters}" not in kind.__doc__
    assert set(inspect.signature(kind).parameters) == set(kind().get_params(deep=False))


@pytest.mark.parametrize("kind", [Growth, TrainingSettings])
def test_every_value_of_an_object_is_described(kind):
    assert "{parameters}" not in kind.__doc__
    assert tuple(inspect.signature(kind).parameters) == kind.names
    for name in kind.names:
        assert f"{name} : " in kind.__doc__
    assert set(kind().get_params().values()) == {"auto"}


# -- objects as values -----------------------------------------------------------------------

OBJECTS = [
    Growth(),
    Growth(max_depth=3, feature_sampling=np.array([1.0, 2.0]), activation={"tanh": 2}),
    TrainingSettings(),
    TrainingSettings(optimizer="rmsprop", leaf_moves=3, select=None),
]


@pytest.mark.parametrize("value", OBJECTS, ids=repr)
def test_objects_are_values(value):
    kind = type(value)
    assert kind(**value.get_params()) == value == pickle.loads(pickle.dumps(value))
    assert clone(value) == value and clone(value).get_params() == value.get_params()
    assert hash(kind(**value.get_params())) == hash(value)
    assert value.set_params() == value and value != "auto"
    assert value != value.set_params(**dict.fromkeys(kind.names[-1:], OTHER[kind.names[-1]]))
    with pytest.raises(AttributeError, match="objects do not change"):
        setattr(value, kind.names[0], "auto")
    with pytest.raises(AttributeError, match="objects do not change"):
        delattr(value, kind.names[0])
    with pytest.raises(TypeError, match=f"{kind.__name__} has no parameter 'depth'; it has: "):
        kind(depth=3)
    with pytest.raises(ValueError, match=f"Invalid parameter 'depth' for {kind.__name__}"):
        value.set_params(depth=3)


OTHER = {"ramp_fraction": 0.7, "block_rows": 7, "linear_penalty": 3.0}


def test_set_params_returns_a_new_object():
    growth = Growth(max_depth=3)
    assert growth.set_params(max_children=5) == Growth(max_depth=3, max_children=5)
    assert growth.set_params(max_depth="auto") == Growth() and growth == Growth(max_depth=3)
    assert repr(growth) == "Growth(max_depth=3)"


@pytest.mark.parametrize("kind", KINDS)
def test_setting_a_nested_value_replaces_the_object(kind):
    growth = Growth(max_depth=3)
    one, other = kind(growth=growth), kind(growth=growth)
    assert one.set_params(growth__max_depth=2, training__optimizer="rmsprop") is one
    assert one.growth == Growth(max_depth=2) and one.training.optimizer == RMSprop()
    assert one.get_params()["growth__max_depth"] == 2
    assert other.growth is growth and growth.max_depth == 3
    assert kind().growth is None and kind().get_params()["growth__max_depth"] == "auto"
    one.set_params(growth=growth, growth__max_children=3)
    assert one.growth == Growth(max_depth=3, max_children=3) and growth == Growth(max_depth=3)
    with pytest.raises(ValueError, match="Invalid parameter 'depth' for Growth"):
        one.set_params(growth__depth=3)
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        one.set_params(depth=3)


@pytest.mark.parametrize("kind", KINDS)
def test_clones_keep_what_is_not_given(kind):
    model = kind(growth=Growth(max_children=5), training=TrainingSettings(moving_share=0.5))
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    given = {name for name, value in twin.growth.get_params().items() if value != "auto"}
    assert given == {"max_children"} and twin.training == TrainingSettings(moving_share=0.5)


def test_nested_values_can_be_searched():
    grid = {"model__growth__max_depth": [1, 2], "model__training__optimizer": ["adam", RMSprop()]}
    base = BNeuralTClassifier(max_epochs=5, random_state=0)
    pipeline = make_pipeline(StandardScaler(), base)
    pipeline.steps[1] = ("model", base)
    search = GridSearchCV(pipeline, grid, cv=2).fit(*IRIS)
    assert len(search.cv_results_["params"]) == 4 and search.best_score_ > 0.5
    best = search.best_estimator_["model"]
    assert best.growth.max_depth == search.best_params_["model__growth__max_depth"]
    assert base.growth is None and base.training is None


ALL_KINDS = [find_class(kind) for kind in registered_kinds()]


@pytest.mark.parametrize("kind", ALL_KINDS, ids=lambda kind: kind.__name__)
def test_names_that_are_no_parameters_are_refused_in_the_name_of_the_class(kind):
    message = rf"^{kind.__name__}\.__init__\(\) got an unexpected keyword argument "
    with pytest.raises(TypeError, match=f"{message}'zzz'; it has: .*random_state"):
        kind(zzz=3, random_state=0)
    with pytest.raises(TypeError, match=rf"{message}'random_stat': did you mean 'random_state'\?$"):
        kind(random_stat=3)
    with pytest.raises(TypeError, match=rf"^{kind.__name__}\.__init__\(\) takes no positional"):
        kind(3)
    for owner, value in NESTED.items():
        if owner not in (names := kind().get_params(deep=False)):
            continue
        for field in value.names:
            if field not in names:
                example = rf"{owner}, {owner}={type(value).__name__}\({field}=3\)$"
                with pytest.raises(
                    TypeError, match=f"{message}'{field}': it is a field of {example}"
                ):
                    kind(**{field: 3})


def test_a_tree_has_no_number_of_trees():
    for name in ("n_estimators", "n_estimator"):
        with pytest.raises(TypeError, match=f"keyword argument '{name}': .* for forests"):
            BNeuralTClassifier(**{name: 5})


# -- what objects do in an estimator ----------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "other"),
    [
        ("loss", Huber(), "absolute_error"),
        ("learning_rate", 0.1, 0.2),
        ("weight_decay", 0.0, 0.1),
        ("batch_size", None, 8),
        ("max_epochs", 3, 4),
    ],
)
def test_values_given_twice_are_refused_by_name(name, value, other):
    model = BNeuralTRegressor(**{name: value}, training=TrainingSettings(**{name: other}))
    with pytest.raises(ValueError, match=rf"{name}=.* and training=TrainingSettings\({name}="):
        model.fit(*DIABETES)
    with pytest.raises(ValueError, match="both given"):
        clone(model).partial_fit(*DIABETES)


@pytest.mark.parametrize(
    "values", [{"max_epochs": 3}, {"loss": "quantile", "quantiles": (0.2, 0.8), "max_epochs": 2}]
)
def test_the_training_of_a_recipe_can_be_passed_back_beside_parameters(values):
    model = BNeuralTRegressor(random_state=0, **values).fit(*DIABETES)
    twin = clone(model).set_params(training=model.recipe_.training).fit(*DIABETES)
    assert twin.predict(DIABETES[0]).tobytes() == model.predict(DIABETES[0]).tobytes()


@pytest.mark.parametrize("kind", [BNeuralTRegressor, BNeuralForestRegressor])
def test_values_of_training_are_those_of_parameters(kind):
    values = {"loss": "huber", "learning_rate": 0.05, "weight_decay": 0.01, "batch_size": 8,
              "max_epochs": 4}  # fmt: skip
    common = {"random_state": 0} | ({"n_estimators": 2} if kind in FORESTS else {})
    at_top = kind(**values, **common).fit(*DIABETES)
    inside = kind(training=TrainingSettings(**values), **common).fit(*DIABETES)
    assert at_top.predict(DIABETES[0]).tobytes() == inside.predict(DIABETES[0]).tobytes()
    if kind in FORESTS:
        clone(inside.estimators_[0]).fit(*DIABETES)  # nothing is given twice


def test_what_is_given_is_used():
    X, y = IRIS
    growth = Growth(max_depth=2, max_children=3, leaf_probability=0.5, output_activation="sigmoid")
    training = TrainingSettings(select="epoch", monitor="error", patience=3, leaf_moves=0)
    model = BNeuralTClassifier(growth=growth, training=training, loss="squared_error",
                               random_state=0, max_epochs=60).fit(X, y)  # fmt: skip
    assert model.tree_.depth <= 3 and model.tree_.output_activation == "sigmoid"
    assert model.n_iter_ == model.best_epoch_ + 4 and "tried" not in model.history_
    plain = BNeuralTClassifier(random_state=0, max_epochs=5)
    smooth = clone(plain).set_params(loss=CrossEntropy(label_smoothing=0.3))
    assert smooth.fit(X, y).predict_proba(X).max() < plain.fit(X, y).predict_proba(X).max()


def test_objects_that_do_not_fit_an_evolved_tree_are_refused_by_name():
    with pytest.raises(ValueError, match="n_init=2 of growth has no meaning for EvolvedTreeReg"):
        EvolvedTreeRegressor(growth=Growth(n_init=2)).fit(*DIABETES)
    with pytest.raises(ValueError, match="select='epoch' of training has no meaning"):
        EvolvedTreeRegressor(training=TrainingSettings(select="epoch")).fit(*DIABETES)


def test_an_evolved_tree_takes_what_it_can_use():
    model = EvolvedTreeClassifier(
        growth=Growth(max_depth=2, activation="relu"),
        training=TrainingSettings(optimizer="rmsprop", leaf_moves=1),
        loss=CrossEntropy(label_smoothing=0.1),
        population_size=6,
        n_generations=1,
        random_state=0,
    ).fit(*IRIS)
    assert model.tree_.hidden_activation in ("relu", "linear") and model.tree_.depth <= 3


@pytest.mark.parametrize("kind", [BNeuralTClassifier, BNeuralForestRegressor])
def test_objects_are_kept_in_files(kind, tmp_path):
    model = kind(
        growth=Growth(max_depth=2, activation=["tanh", "gaussian"], max_size=None),
        training=TrainingSettings(optimizer=RMSprop(beta=0.8), patience=None, max_epochs=2),
    ).fit(*(IRIS if kind in TREES else DIABETES))
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.growth == model.growth and loaded.training == model.training
    assert loaded.get_params() == model.get_params()


def test_settings_of_the_paper_are_one_tree_trained_row_by_row():
    growth, training = PAPER_SETTINGS["growth"], PAPER_SETTINGS["training"]
    assert growth.n_init == PAPER_SETTINGS["batch_size"] == 1 and growth.min_size is None
    assert PAPER_SETTINGS["weight_decay"] == 0 and PAPER_SETTINGS["learning_rate"] == 0.1
    assert training.optimizer == RMSprop() and training.select == "update"
    for kind in (*TREES, *FORESTS):
        kind(**PAPER_SETTINGS)._validate_params()
    with pytest.raises(TypeError):
        PAPER_SETTINGS["batch_size"] = 2
