"""Runs on images: recipes, protocols, the command, tables and figures."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from bneuralt import BNeuralForestClassifier, BNeuralTClassifier, NeuralTree, load_model
from bneuralt.cli.program import build_parser, main
from bneuralt_paper.images import study
from bneuralt_paper.images.image_baselines import (
    IMAGE_BASELINES,
    ImageBaseline,
    run_image_baseline,
)
from bneuralt_paper.images.image_data import Images, load_images
from bneuralt_paper.images.image_runs import ImageRun, group_runs, run_images
from bneuralt_paper.images.paper_runs import PaperSetting, run_paper_tree
from bneuralt_paper.images.paper_trees import ImageGrowth, draw_levels, draw_tree, mean_size
from bneuralt_paper.images.recipes import image_classifier
from bneuralt_paper.images.result_files import ImageResults, load_results
from bneuralt_paper.images.study import ImageTask
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
    history = load_model(out).extra_["run"]["history"]
    assert history["test"] == pytest.approx([result["test_error"]])
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
def runs(images):
    return [
        run_images(images, n_weights=n_weights, epochs=2, seed=seed, n_jobs=1)[0]
        for seed in range(2)
        for n_weights in (1000, 2000)
    ]


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
    table = image_tables.table4(ImageResults([], runs, baselines))
    measured = table.frame[table.frame["group"] == "ours, honest"]
    assert len(measured) == 2
    assert measured["runs"].tolist() == [2, 2]
    expected = 100 * np.mean([run.test_error for run in runs if run.weights > 1500])
    assert measured["last_percent"].iloc[1] == pytest.approx(expected)
    assert measured["error_percent"].isna().all()
    assert "*6.08*" in table.to_markdown()
    assert "CART" in table.to_html()
    assert len(image_tables.comparison_table(runs, baselines, "mnist").rows) == 2 + len(
        IMAGE_BASELINES
    )


def test_figures(runs, images):
    setting = PaperSetting("20K", 400, 11, ImageGrowth(3, 5, 0.4), 0.01, 0)
    run, tree = run_paper_tree(setting, images)
    drawn = {
        "weights": image_figures.error_against_weights([run], runs),
        "roc": image_figures.error_and_roc(run),
        "tree": image_figures.tree_picture(tree, images.class_names),
    }
    for name, figure in drawn.items():
        assert to_svg(figure, name).startswith("<svg")
    assert image_figures.error_against_weights([], []) is None


# -- the paper's trees --------------------------------------------------------------------


@pytest.mark.parametrize("growth", [ImageGrowth(4, 6, 0.3), ImageGrowth(5, 5, 0.5)])
def test_trees_of_the_papers_rule(growth):
    levels = draw_levels(growth, 4000, np.random.default_rng(0))
    assert levels.sizes.mean() == pytest.approx(mean_size(growth), rel=0.03)
    grown = [
        NeuralTree.random(
            9, 10, growth.max_depth, growth.max_children, growth.leaf_probability, rule="paper",
            random_state=seed,
        ).size
        for seed in range(300)
    ]  # fmt: skip
    assert np.mean(grown) == pytest.approx(levels.sizes.mean(), rel=0.05)
    tree = draw_tree(growth, int(np.median(levels.weights)), 9, 1)
    assert tree.n_inputs == 9 and tree.n_outputs == 10
    counts = np.bincount(tree.parent[10:], minlength=tree.parent.size)
    counts = counts + np.bincount(tree.leaf_parent, minlength=tree.parent.size)
    assert counts.min() >= 2 and counts.max() <= growth.max_children - 1
    assert tree.parameters.min() >= 0 and tree.parameters.max() <= 1
    again = draw_tree.__wrapped__(growth, int(np.median(levels.weights)), 9, 1)
    assert again == tree


def test_a_size_that_no_tree_has():
    with pytest.raises(ValueError, match=r"none of .* trees has about 5 weights"):
        draw_tree(ImageGrowth(2, 4, 0.5), 5, 9, 0)


def test_a_run_of_the_papers_trees(images):
    setting = PaperSetting("20K", 400, 4, ImageGrowth(3, 5, 0.4), 0.01, 0)
    run, tree = run_paper_tree(setting, images)
    assert len(run.test_error) == len(run.train_error) == 4
    assert run.last_error == run.test_error[-1] >= run.lowest_error == min(run.test_error)
    wrong = tree.forward(images.X_test).argmax(axis=1) != images.y_test
    assert run.lowest_error == pytest.approx(wrong.mean(), abs=1e-6)
    for part, y in (("train", images.y_train), ("test", images.y_test)):
        X = images.X_train if part == "train" else images.X_test
        for k, area in enumerate(run.areas[part]):
            assert area == pytest.approx(roc_auc_score(y == k, tree.forward(X)[:, k]), abs=1e-5)
    by_update, _ = run_paper_tree(replace(setting, selection="update"), images)
    assert by_update.test_error == run.test_error and by_update.lowest_error <= run.lowest_error


def test_a_study_continues_where_it_ended(images, tmp_path, monkeypatch):
    def result(images, name):
        return [ImageBaseline(images.name, name, 0, 0.1, None, 1.0)]

    tasks = [ImageTask(name, "mnist", 0, partial(result, name=name)) for name in ("one", "two")]
    monkeypatch.setattr(study, "image_study", lambda: tasks)
    assert study.run_study(tmp_path, lambda name: images, "one", lambda text: None) == 1
    assert study.run_study(tmp_path, lambda name: images, report=lambda text: None) == 1
    assert study.run_study(tmp_path, lambda name: images) == 0
    assert [b.name for b in load_results(tmp_path).baselines] == ["one", "two"]


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
