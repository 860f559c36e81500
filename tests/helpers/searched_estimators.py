"""Tests that every estimator passes whose structure is searched for."""

import os
import pickle
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_param_validation

from bneuralt import load_model
from bneuralt.drawing import draw_tree
from bneuralt.evolve import CheckpointError
from tests.helpers.tables import DIABETES, IRIS


def data_for(cls):
    return IRIS if cls.__name__.endswith("Classifier") else DIABETES


def _as_lists(model):
    """Files hold tuples as lists."""
    return {k: list(v) for k, v in model.get_params().items() if isinstance(v, tuple)}


class SearchedEstimatorTests:
    """To be inherited by a class of tests that sets `SMALL`."""

    #: Class of estimators -> parameters of a short search.
    SMALL: dict

    def pytest_generate_tests(self, metafunc):
        regressors = [cls for cls in self.SMALL if cls.__name__.endswith("Regressor")]
        for name, classes in (("cls", list(self.SMALL)), ("regressor", regressors)):
            if name in metafunc.fixturenames:
                metafunc.parametrize(name, classes)

    def small(self, cls, **parameters):
        return cls(**{**self.SMALL[cls], "random_state": 0, **parameters})

    def test_every_parameter_is_checked_and_documented(self, cls):
        check_param_validation(cls.__name__, self.small(cls))
        for name, value in cls().get_params(deep=False).items():
            assert f"\n    {name} : " in cls.__doc__
            assert f"default={value!r}\n" in cls.__doc__

    def test_a_seed_decides_all_for_any_number_of_threads(self, cls):
        X, y = data_for(cls)
        one, two = self.small(cls).fit(X, y), self.small(cls, n_jobs=2).fit(X, y)
        assert one.tree_ == two.tree_
        other = self.small(cls, random_state=1).fit(X, y)
        assert one.tree_ != other.tree_

    def test_models_are_saved_pickled_and_drawn(self, cls, tmp_path):
        X, y = data_for(cls)
        model = self.small(cls).fit(X, y)
        model.save(tmp_path / "model.json", extra={"note": 1})
        loaded = load_model(tmp_path / "model.json")
        assert type(loaded) is cls and loaded.extra_ == {"note": 1}
        assert loaded.get_params() == {**model.get_params(), **_as_lists(model)}
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
        assert len(copy.pareto_front_) == len(model.pareto_front_)
        assert "leaf" in draw_tree(model.tree_) or "x" in draw_tree(model.tree_)

    def test_the_front_is_made_of_usable_models(self, cls, tmp_path):
        X, y = data_for(cls)
        model = self.small(cls, n_generations=8).fit(X, y)
        front = model.pareto_front_
        sizes = [entry.size for entry in front]
        assert sizes == sorted(sizes)
        for entry in front:
            assert entry.n_weights == entry.model.n_parameters_ == entry.model.tree_.n_parameters
            assert entry.standard_error >= 0 and entry.score <= 1
            assert np.isfinite(entry.model.score(X, y))
        front[0].model.save(tmp_path / "smallest.json")
        assert load_model(tmp_path / "smallest.json").tree_ == front[0].model.tree_
        assert any(entry.model.tree_ == model.tree_ for entry in front)
        small_one = clone(model).set_params(choose="one_standard_error").fit(X, y)
        assert small_one.tree_.size <= model.tree_.size

    def test_tables_with_gaps_and_categories(self, cls):
        rng = np.random.default_rng(0)
        colour = rng.choice(["red", "green", "blue"], 300)
        size = rng.normal(size=300)
        y = ((colour == "red") ^ (size > 0)).astype(int)
        size[rng.random(300) < 0.1] = np.nan
        frame = pd.DataFrame({"colour": colour, "size": size})
        model = self.small(cls).fit(frame, y)
        assert np.isfinite(model.score(frame, y))

    def test_several_targets(self, regressor):
        X, _ = IRIS
        assert self.small(regressor).fit(X, X[:, :2] * 10).predict(X).shape == (150, 2)

    def test_a_callback_is_told_and_can_stop(self, cls):
        told = []
        X, y = data_for(cls)
        model = self.small(cls, n_generations=5).fit(
            X, y, callback=lambda state: told.append(state) or len(told) == 2
        )
        assert [state.n_done for state in told] == [1, 2]
        assert model.n_iter_ == 2 and np.isfinite(model.score(X, y))

    def test_ctrl_c_gives_the_best_so_far(self, cls):
        X, y = data_for(cls)
        model = self.small(cls, n_generations=100_000)
        began = threading.Event()

        def interrupt():
            began.wait(60)
            time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y, callback=lambda state: began.set())
        thread.join()
        assert np.isfinite(model.score(X, y)) and model.pareto_front_

    def test_a_fit_continues_from_its_checkpoint(self, cls, tmp_path):
        X, y = data_for(cls)
        path = tmp_path / "search.json"
        expected = self.small(cls, n_generations=3).fit(X, y)
        model = self.small(cls, n_generations=3, checkpoint=path)
        told = []
        model.fit(X, y, callback=lambda state: told.append(state.n_done) or state.n_done == 2)
        model.fit(X, y, callback=lambda state: told.append(state.n_done))
        assert told == list(range(1, told[-1] + 1))
        assert model.tree_ == expected.tree_
        text = path.read_text()
        with pytest.raises(CheckpointError, match="another table"):
            model.fit(X[:-1], y[:-1])
        (name,) = (name for name in model.get_params() if name.endswith("max_children"))
        with pytest.raises(CheckpointError, match=rf"with {name}=.*, not '3'"):
            clone(model).set_params(**{name: 3}).fit(X, y)
        path.write_text(text.replace('"parent"', '"parents"'))
        with pytest.raises(CheckpointError, match="damaged"):
            model.fit(X, y)
        assert '"parents"' in path.read_text()

    def test_constant_targets_are_refused(self, cls):
        X, y = data_for(cls)
        message = "only one class" if cls.__name__.endswith("Classifier") else "y is constant, 3"
        with pytest.raises(ValueError, match=message):
            self.small(cls).fit(X, np.full(len(y), 3))
