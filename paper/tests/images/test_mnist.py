"""Runs on images: recipes, protocols, the command, tables and figures."""

import json
from dataclasses import replace

import numpy as np
import pytest

from bneuralt import BNeuralForestClassifier, BNeuralTClassifier, NeuralTree, load_model
from bneuralt.cli.program import build_parser, main
from bneuralt_paper.images.image_baselines import IMAGE_BASELINES, run_image_baseline
from bneuralt_paper.images.image_data import Images, load_images
from bneuralt_paper.images.image_runs import ImageRun, group_runs, run_images
from bneuralt_paper.images.recipes import image_classifier
from bneuralt_paper.images.result_files import load_results, save_run
from bneuralt_paper.reporting import image_figures, image_tables
from bneuralt_paper.reporting.figure_files import to_svg
from paper.tests.helpers.spots import spots, write_spots


@pytest.fixture(scope="module")
def images():
    return spots()


@pytest.mark.parametrize("n_weights", [11_987, 23_835, 241_999])
def test_the_paper_recipe_can_draw_every_size_of_the_paper(n_weights):
    growth = image_classifier("paper", n_weights).growth.get_params()
    shape = {name: growth[name] for name in ("max_depth", "min_children", "max_children", "init")}
    tree = NeuralTree.random(784, 10, n_weights=n_weights, random_state=0, **shape)
    assert 0.97 * n_weights <= tree.n_parameters <= n_weights


@pytest.mark.parametrize("n_weights", [1_500, 12_000, 24_000])
def test_a_modern_tree(n_weights, images):
    model = image_classifier(n_weights=n_weights, epochs=1).fit(images.X_train, images.y_train)
    tree = model.tree_
    assert 0.97 * n_weights <= tree.n_parameters <= n_weights
    assert tree.depth == 2
    assert tree.input_counts[:28].sum() == 0  # the border does not vary


def test_many_weights_make_several_trees():
    model = image_classifier(n_weights=242_000)
    assert isinstance(model, BNeuralForestClassifier)
    assert model.n_estimators * model.n_weights <= 242_000
    assert isinstance(image_classifier(n_weights=242_000, n_trees=1), BNeuralTClassifier)
    assert isinstance(image_classifier("paper", n_weights=242_000), BNeuralTClassifier)


def test_wrong_names_are_refused(images, tmp_path):
    with pytest.raises(ValueError, match="recipe='best'"):
        image_classifier("best")
    with pytest.raises(ValueError, match="protocol='best'"):
        run_images(images, protocol="best")
    with pytest.raises(ValueError, match="name='wine' is not an image data set"):
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


def test_clothes_have_a_decay_of_their_own(images):
    def decay(name, **settings):
        _, model = run_images(replace(images, name=name), n_weights=500, epochs=1, **settings)
        return model.weight_decay

    assert decay("mnist") == 0.05
    assert decay("fashion_mnist") == 0.015
    assert decay("fashion_mnist", weight_decay=0.3) == 0.3
    assert decay("fashion_mnist", recipe="paper") == 0.0


def test_monitoring_has_no_influence(images):
    plain, _ = run_images(images, n_weights=1500, epochs=3, n_jobs=1)
    monitored, _ = run_images(images, n_weights=1500, epochs=3, n_jobs=1, monitor_test=True)
    assert monitored.test_error == plain.test_error == pytest.approx(monitored.history["test"][-1])
    assert monitored.history["train"] == plain.history["train"]
    selected, _ = run_images(images, n_weights=1500, epochs=3, n_jobs=1, protocol="paper")
    assert selected.history == monitored.history  # only the selected weights differ


# -- the command --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data_home(tmp_path_factory):
    """Return a data folder with artificial images in the format of MNIST."""
    home = tmp_path_factory.mktemp("data")
    write_spots(home)
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
    assert model.extra_["run"]["test_error"] == result["test_error"]
    assert "test" not in model.extra_["run"]["history"]
    assert main([*common, "--seed", "3", "--out", str(out), "--curves"]) == 0
    capsys.readouterr()
    [run] = load_results(tmp_path).runs
    assert run.history["test"] == pytest.approx([result["test_error"]])
    assert main([*common, "--seed", "3"]) == 0
    assert f"Test error {100 * result['test_error']:.2f} %" in capsys.readouterr().out
    assert main([*common, "--weights", "12"]) == 2
    assert "n_weights=12" in capsys.readouterr().err


def test_the_command_trains_baselines(data_home, tmp_path, capsys):
    out = tmp_path / "result.json"
    common = ["paper", "mnist", "--data-home", str(data_home), "--baseline"]
    command = [*common, "CART", "--out", str(out)]
    assert main([*command, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    [result] = load_results(tmp_path).baselines
    assert result.name == "CART" and result.test_error == shown["test_error"] < 0.9
    for option in (["--curves"], ["--epochs", "3"], ["--recipe", "paper"]):
        assert main([*command, *option]) == 2
        assert f"{option[0]} applies to trees only" in capsys.readouterr().err
    assert main([*common, "MLP", "--weights", "800"]) == 2
    assert "n_weights=800 is too few for an MLP: use 805" in capsys.readouterr().err
    for name in IMAGE_BASELINES:
        arguments = [*common, name.replace(" ", "-")]
        assert build_parser(arguments).parse_args(arguments).run


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
                images, n_weights=n_weights, epochs=2, seed=seed, n_jobs=1, monitor_test=True
            )
            save_run(run, model, folder / f"{n_weights}-{seed}.json")
    return load_results(folder).runs


def test_runs_of_one_setting_are_one_group():
    settings = [
        ("honest", 25, 1000),
        ("honest", 25, 1030),
        ("honest", 70, 1000),
        ("paper", 25, 1000),
    ]
    runs = [
        ImageRun("mnist", "modern", protocol, seed, epochs, 1, weights, 0.1, 1.0, 1)
        for seed in (1, 0)
        for protocol, epochs, weights in settings
    ]
    groups = group_runs(runs)
    assert [len(group) for group in groups] == [4, 2, 2]
    assert all([run.seed for run in group] == sorted(run.seed for run in group) for group in groups)


def test_tables(runs, images):
    baselines = [run_image_baseline(name, images, n_weights=5000) for name in IMAGE_BASELINES]
    assert all(0 <= baseline.test_error < 0.9 for baseline in baselines)
    sizes = {baseline.name: baseline.weights for baseline in baselines}
    assert sizes["logistic regression"] == 7850
    assert 0.8 * 5000 < sizes["MLP"] <= 5000
    table = image_tables.table4(runs, baselines)
    measured = table.frame[table.frame["group"] == "ours, honest"]
    assert len(measured) == 2
    assert measured["runs"].tolist() == [2, 2]
    expected = 100 * np.mean([run.test_error for run in runs if run.weights > 1500])
    assert measured["error_percent"].iloc[1] == pytest.approx(expected)
    assert "*6.08*" in table.to_markdown()
    assert "CART" in table.to_html()
    assert len(image_tables.comparison_table(runs, baselines, "mnist").rows) == 2 + len(
        IMAGE_BASELINES
    )


def test_order_of_difficulty():
    y = np.repeat(np.arange(3), 20)
    scores = np.eye(3)[y] + np.random.default_rng(0).normal(size=(60, 3)) * [0.1, 2.0, 0.5]
    assert [k for k, _ in image_figures.order_of_difficulty(scores, y)] == [1, 2, 0]


def test_figures(runs, images):
    _, model = run_images(images, n_weights=1500, epochs=1, n_jobs=1)
    scores = model.predict_proba(images.X_test)
    drawn = {
        "weights": image_figures.error_against_weights(runs),
        "epochs": image_figures.error_per_epoch(runs),
        "roc": image_figures.roc_curves(scores, images.y_test, images.class_names),
        "confusion": image_figures.confusions(scores, images),
        "tree": image_figures.tree_picture(model.tree_, images.class_names),
    }
    for name, figure in drawn.items():
        assert to_svg(figure, name).startswith("<svg")


def test_curves_of_one_run_for_each_size(runs):
    figure = image_figures.error_per_epoch([*runs, *(replace(run, recipe="paper") for run in runs)])
    assert [ax.get_title() for ax in figure.axes] == ["modern recipe", "paper recipe"]
    for ax in figure.axes:
        labels = ax.get_legend_handles_labels()[1]
        assert len(labels) == 2 + 2  # two sizes, and two line styles
    assert image_figures.error_per_epoch([replace(run, history={}) for run in runs]) is None


def test_of_equal_sizes_the_longest_trained_is_drawn(runs):
    longer = [replace(run, epochs=9, test_error=0.5) for run in runs]
    [ax] = image_figures.error_against_weights([*runs, *longer]).axes
    [line] = [c[0] for c in ax.containers]
    assert line.get_ydata().tolist() == [50.0, 50.0]


# -- the real digits ----------------------------------------------------------------------


def validation_split(images, n_held_out=10_000):
    """Return the training rows only, with the last of them in place of the test rows."""
    X, y = images.X_train, images.y_train
    return Images(
        images.name, images.shape, images.class_names,
        X[:-n_held_out], y[:-n_held_out], X[-n_held_out:], y[-n_held_out:],
    )  # fmt: skip


def test_digits(shared):
    images = load_images("mnist", shared)
    assert (len(images.X_train), len(images.X_test)) == (60_000, 10_000)
    run, _ = run_images(validation_split(images), n_weights=6_000, epochs=2, n_jobs=1)
    assert run.test_error < 0.09
