"""Recognising images: recipes, protocols, the command, tables and figures."""

import json

import numpy as np
import pytest

from bneuralt import BNeuralForestClassifier, BNeuralTClassifier, load_model
from bneuralt.cli import main
from bneuralt.fetch import write_images
from bneuralt.paper import mnist_report as report
from bneuralt.paper.figures import to_svg
from bneuralt.paper.mnist import ImageRun, Images, classifier, load_images, run_images, save_run
from bneuralt.paper.mnist_baselines import BASELINES, measure_baseline


def blobs(n, rng, shape=(28, 28)):
    """Images of a bright spot whose place tells the class, in noise."""
    y = rng.integers(0, 10, n).astype(np.int32)
    X = rng.integers(0, 50, (n, *shape))
    for i, k in enumerate(y):
        row, column = 2 + 5 * (k // 2), 4 + 12 * (k % 2)
        X[i, row : row + 4, column : column + 4] += 150
    X[:, 0] = 0  # as at the border of MNIST's images
    return X.reshape(n, -1).astype(np.uint8), y


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    names = tuple("0123456789")
    return Images("mnist", (28, 28), names, *blobs(600, rng), *blobs(300, rng))


@pytest.mark.parametrize("n_weights", [1_500, 12_000, 24_000])
def test_a_modern_tree(n_weights, images):
    model = classifier(n_weights=n_weights, epochs=1).fit(images.X_train, images.y_train)
    tree = model.tree_
    assert 0.97 * n_weights <= tree.n_parameters <= n_weights
    assert tree.depth == 2
    assert tree.input_counts[:28].sum() == 0  # the border does not vary


def test_many_weights_make_several_trees():
    model = classifier(n_weights=242_000)
    assert isinstance(model, BNeuralForestClassifier)
    assert model.n_estimators * model.n_weights <= 242_000
    assert isinstance(classifier(n_weights=242_000, n_trees=1), BNeuralTClassifier)
    assert isinstance(classifier("paper", n_weights=242_000), BNeuralTClassifier)


def test_wrong_names_are_refused(images, tmp_path):
    with pytest.raises(ValueError, match="recipe='best'"):
        classifier("best")
    with pytest.raises(ValueError, match="protocol='best'"):
        run_images(images, protocol="best")
    with pytest.raises(ValueError, match="name='wine' is not an image set"):
        load_images("wine")


@pytest.mark.parametrize("recipe", ["modern", "paper"])
@pytest.mark.parametrize("protocol", ["honest", "paper"])
def test_a_run(recipe, protocol, images):
    run, model = run_images(
        images, recipe=recipe, protocol=protocol, n_weights=2000, epochs=25, n_jobs=1
    )
    assert run.test_error == np.mean(model.predict(images.X_test) != images.y_test)
    assert 1940 <= run.weights <= 2000
    assert run.seconds_per_epoch > 0
    if protocol == "paper":
        assert run.test_error <= min(run.history["test"]) + 1e-9
    else:
        assert "test" not in run.history
    if recipe == "modern":
        assert run.test_error < 0.5


def test_watching_decides_nothing(images):
    plain, _ = run_images(images, n_weights=1500, epochs=3, n_jobs=1)
    watched, _ = run_images(images, n_weights=1500, epochs=3, n_jobs=1, watch_test=True)
    assert watched.test_error == plain.test_error == pytest.approx(watched.history["test"][-1])
    assert watched.history["train"] == plain.history["train"]


def test_rows_for_search_hold_no_test_row(images):
    search = images.for_search(100)
    assert len(search.X_train) == 500
    assert np.array_equal(search.X_test, images.X_train[500:])
    assert not np.shares_memory(search.X_test, images.X_test)


# -- the command --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data_home(tmp_path_factory):
    """A data folder with MNIST's form and made-up images."""
    home = tmp_path_factory.mktemp("data")
    X, y = (np.tile(part, (100, 1)[: part.ndim]) for part in blobs(700, np.random.default_rng(1)))
    (home / "mnist").mkdir()
    write_images(X, y, home / "mnist", n_train=60_000)
    return home


def test_the_command(data_home, tmp_path, capsys):
    out = tmp_path / "model.json"
    common = ["paper", "mnist", "--weights", "1000", "--epochs", "1", "--data-home", str(data_home)]
    assert main([*common, "--seed", "3", "--out", str(out), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert {"test_error", "weights", "seconds_per_epoch"} <= set(result)
    assert 970 <= result["weights"] <= 1000
    assert 0 <= result["test_error"] <= 1
    model = load_model(out)
    assert ImageRun.of_model(model).test_error == result["test_error"]
    assert main([*common, "--seed", "3"]) == 0
    assert f"Test error {100 * result['test_error']:.2f} %" in capsys.readouterr().out
    assert main([*common, "--weights", "12"]) == 2
    assert "n_weights=12" in capsys.readouterr().err


def test_missing_images_are_reported(tmp_path, capsys):
    assert main(["paper", "mnist", "--data-home", str(tmp_path)]) == 3
    assert "mnist" in capsys.readouterr().err


# -- the report ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def runs(images, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for seed in range(2):
        for n_weights in (1000, 2000):
            run, model = run_images(
                images, n_weights=n_weights, epochs=2, seed=seed, n_jobs=1, watch_test=True
            )
            save_run(run, model, folder / f"{n_weights}-{seed}.json")
    return report.load_runs(folder)


def test_tables(runs, images):
    baselines = [measure_baseline(name, images, n_weights=5000) for name in BASELINES]
    assert all(0 <= baseline.test_error < 0.9 for baseline in baselines)
    sizes = {baseline.name: baseline.weights for baseline in baselines}
    assert sizes["logistic regression"] == 7850
    assert 0.8 * 5000 < sizes["MLP"] <= 5000
    table = report.table4(runs, baselines)
    measured = table.frame[table.frame["group"] == "ours, honest"]
    assert len(measured) == 2
    assert measured["runs"].tolist() == [2, 2]
    expected = 100 * np.mean([run.test_error for run in runs if run.weights > 1500])
    assert measured["error_percent"].iloc[1] == pytest.approx(expected)
    assert "*6.08*" in table.to_markdown()
    assert "CART" in table.to_html()
    assert len(report.comparison_table(runs, baselines, "mnist").rows) == 2 + len(BASELINES)


def test_order_of_difficulty():
    y = np.repeat(np.arange(3), 20)
    scores = np.eye(3)[y] + np.random.default_rng(0).normal(size=(60, 3)) * [0.1, 2.0, 0.5]
    assert [k for k, _ in report.order_of_difficulty(scores, y)] == [1, 2, 0]


def test_figures(runs, images):
    _, model = run_images(images, n_weights=1500, epochs=1, n_jobs=1)
    scores = model.predict_proba(images.X_test)
    drawn = {
        "weights": report.error_against_weights(runs),
        "epochs": report.error_per_epoch(runs),
        "roc": report.roc_curves(scores, images.y_test, images.class_names),
        "confusion": report.confusions(scores, images),
        "tree": report.tree_picture(model.tree_, images.class_names),
    }
    for name, figure in drawn.items():
        assert to_svg(figure, name).startswith("<svg")


# -- the real digits ----------------------------------------------------------------------


def test_digits(shared):
    images = load_images("mnist", shared)
    assert (len(images.X_train), len(images.X_test)) == (60_000, 10_000)
    run, _ = run_images(images.for_search(), n_weights=6_000, epochs=2, n_jobs=1)
    assert run.test_error < 0.09
