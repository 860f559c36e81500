"""Import paths of earlier releases give the same objects as the new ones."""

import importlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import bneuralt
from bneuralt._moved import MOVED, install_aliases

# What earlier documentation named, and where it is now. The paths of drawing, tables, datasets,
# estimators, training and tree are unchanged: these modules are packages now.
DOCUMENTED = [
    ("bneuralt.catalogue.PAPER_CLASSIFICATION", "bneuralt.datasets.catalogue.PAPER_CLASSIFICATION"),
    ("bneuralt.catalogue.PAPER_DATASETS", "bneuralt.datasets.catalogue.PAPER_DATASETS"),
    ("bneuralt.catalogue.PAPER_REGRESSION", "bneuralt.datasets.catalogue.PAPER_REGRESSION"),
    ("bneuralt.datasets.Dataset", "bneuralt.datasets.loading.Dataset"),
    ("bneuralt.datasets.data_status", "bneuralt.datasets.loading.data_status"),
    ("bneuralt.datasets.list_datasets", "bneuralt.datasets.loading.list_datasets"),
    ("bneuralt.drawing.draw_tree", "bneuralt.drawing.terminal.draw_tree"),
    ("bneuralt.encoding.TableEncoding", "bneuralt.tables.encoding.TableEncoding"),
    ("bneuralt.encoding.learn_encoding", "bneuralt.tables.encoding.learn_encoding"),
    ("bneuralt.fetch.fetch", "bneuralt.datasets.fetching.fetch"),
    ("bneuralt.forest.BNeuralForestClassifier", "bneuralt.BNeuralForestClassifier"),
    ("bneuralt.forest.BNeuralForestRegressor", "bneuralt.BNeuralForestRegressor"),
    ("bneuralt.estimators.BNeuralTClassifier", "bneuralt.BNeuralTClassifier"),
    ("bneuralt.estimators.BNeuralTRegressor", "bneuralt.BNeuralTRegressor"),
    ("bneuralt.config.show_config", "bneuralt.show_config"),
    ("bneuralt.generate.GrowthRule", "bneuralt.tree.generate.GrowthRule"),
    ("bneuralt.generate.random_tree", "bneuralt.tree.generate.random_tree"),
    ("bneuralt.model_file.load_model", "bneuralt.load_model"),
    ("bneuralt.optimizers.OPTIMIZERS", "bneuralt.training.optimizers.OPTIMIZERS"),
    ("bneuralt.persistence.ModelFileError", "bneuralt.files.ModelFileError"),
    ("bneuralt.persistence.write_atomically", "bneuralt.files.write_atomically"),
    ("bneuralt.sampling.ReceptiveFields", "bneuralt.tree.sampling.ReceptiveFields"),
    ("bneuralt.sampling.VarianceSampling", "bneuralt.tree.sampling.VarianceSampling"),
    ("bneuralt.tables.read_csv", "bneuralt.tables.reading.read_csv"),
    ("bneuralt.training.EpochState", "bneuralt.training.trainer.EpochState"),
    ("bneuralt.training.TrainingResult", "bneuralt.training.trainer.TrainingResult"),
    ("bneuralt.training.epoch_order", "bneuralt.training.trainer.epoch_order"),
    ("bneuralt.training.gradient", "bneuralt.training.trainer.gradient"),
    ("bneuralt.tree.NeuralTree", "bneuralt.NeuralTree"),
]


def load(path):
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize(("old", "new"), DOCUMENTED, ids=[old for old, _ in DOCUMENTED])
def test_a_documented_path_gives_the_same_object(old, new):
    assert load(old) is load(new)


@pytest.mark.parametrize(("old", "new"), DOCUMENTED, ids=[old for old, _ in DOCUMENTED])
def test_a_pickle_that_names_the_old_path_is_loaded(old, new):
    module, _, name = old.rpartition(".")
    assert pickle.loads(f"c{module}\n{name}\n.".encode()) is load(new)


def test_a_pickled_estimator_of_an_earlier_release_is_loaded():
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = bneuralt.BNeuralForestRegressor(n_estimators=2, max_epochs=2, random_state=0)
    model.fit(X, X[:, 0])
    data = pickle.dumps(model, protocol=0)  # a text protocol, in which names can be replaced
    for new, old in [
        (b"bneuralt.estimators.forest", b"bneuralt.forest"),
        (b"bneuralt.estimators.single", b"bneuralt.estimators"),
        (b"bneuralt.estimators.scaling", b"bneuralt.scaling"),
        (b"bneuralt.tree.neural_tree", b"bneuralt.tree"),
    ]:
        assert new in data
        data = data.replace(b"c" + new + b"\n", b"c" + old + b"\n")
    twin = pickle.loads(data)
    assert type(twin) is type(model)
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))


@pytest.mark.parametrize("old", MOVED)
def test_an_alias_is_the_module_itself(old):
    new = importlib.import_module(MOVED[old])
    spec, name, file = new.__spec__, new.__name__, new.__file__
    assert importlib.import_module(old) is new is sys.modules[old]
    assert (new.__spec__, new.__name__, new.__file__) == (spec, name, file)
    assert new.__spec__.name == new.__name__ == MOVED[old]
    assert getattr(bneuralt, old.removeprefix("bneuralt.")) is new


def test_old_names_work_before_the_new_ones_are_imported():
    code = "".join(f"import {old}\n" for old in MOVED)
    code += "import sys\n"
    code += f"for old, new in {MOVED!r}.items():\n"
    code += "    module = sys.modules[old]\n"
    code += "    assert module is sys.modules[new], old\n"
    code += "    assert module.__name__ == module.__spec__.name == new, old\n"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_other_names_are_still_unknown():
    with pytest.raises(ModuleNotFoundError, match=r"bneuralt\.nothing"):
        importlib.import_module("bneuralt.nothing")
    with pytest.raises(AttributeError, match="nothing"):
        _ = bneuralt.nothing


def test_the_finder_is_installed_once():
    before = list(sys.meta_path)
    install_aliases()
    assert sys.meta_path == before
