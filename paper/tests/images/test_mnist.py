"""Runs on images: trees, the study, tables and figures."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from bneuralt import BNeuralForestClassifier, NeuralTree
from bneuralt.cli.program import main
from bneuralt_paper.images.image_baselines import (
    IMAGE_BASELINES,
    ImageBaseline,
    run_image_baseline,
)
from bneuralt_paper.images.image_data import Images, load_images
from bneuralt_paper.images.image_runs import image_classifier, run_images
from bneuralt_paper.images.paper_runs import PaperSetting, run_paper_tree
from bneuralt_paper.images.paper_trees import ImageGrowth, draw_levels, draw_tree, mean_size
from bneuralt_paper.images.result_files import ImageResults, load_results, write_results
from bneuralt_paper.reporting import image_figures, image_tables
from bneuralt_paper.reporting.figure_files import to_svg
from bneuralt_paper.running import image_study as study
from bneuralt_paper.running.image_study import ImageTask
from bneuralt_paper.running.locks import RunLocks
from paper.tests.helpers.spots import spots, write_spots
from tests.helpers.paths import DOCS


@pytest.fixture(scope="module")
def images():
    return spots()


@pytest.mark.parametrize("n_weights", [1_500, 12_000, 24_000])
def test_one_tree(n_weights, images):
    model = image_classifier(images, n_weights, epochs=1).fit(images.X_train, images.y_train)
    tree = model.tree_
    assert 0.97 * n_weights <= tree.n_parameters <= n_weights
    assert tree.depth == 2
    assert tree.input_counts[:28].sum() == 0  # the border does not vary


def test_many_weights_make_several_trees(images):
    model = image_classifier(images, 242_000, epochs=25)
    assert isinstance(model, BNeuralForestClassifier)
    assert model.n_estimators == 9 and model.n_estimators * model.n_weights <= 242_000


def test_other_names_are_refused():
    with pytest.raises(ValueError, match="name='wine' is not an image data set"):
        load_images("wine")


def test_a_run(images):
    run = run_images(images, 2000, epochs=25, seed=3)
    model = image_classifier(images, 2000, 25, seed=3).fit(images.X_train, images.y_train)
    assert run.test_error == np.mean(model.predict(images.X_test) != images.y_test) < 0.5
    assert run.name == "modern-mnist-2000-s3" and run.seconds > 0
    assert 1940 <= run.weights <= 2000


def test_clothes_have_a_decay_of_their_own(images):
    decays = [
        image_classifier(replace(images, name=name), 500, 1).weight_decay
        for name in ("mnist", "fashion_mnist")
    ]
    assert decays == [0.05, 0.015]


# -- the report ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def runs(images):
    return [
        run_images(images, n_weights, epochs=2, seed=seed)
        for seed in range(2)
        for n_weights in (1000, 2000)
    ]


def test_tables(runs, images):
    baselines = [run_image_baseline(name, images, n_weights=5000) for name in IMAGE_BASELINES]
    assert all(0 <= baseline.test_error < 0.9 for baseline in baselines)
    sizes = {baseline.model: baseline.weights for baseline in baselines}
    assert sizes["logistic regression"] == 7850
    assert 0.8 * 5000 < sizes["MLP"] <= 5000
    with pytest.raises(ValueError, match="n_weights=800 is too few for an MLP: use 805"):
        run_image_baseline("MLP", images, n_weights=800)
    table = image_tables.table4(ImageResults([], runs, baselines))
    measured = table.frame[table.frame["group"] == "ours, honest"]
    assert measured["runs"].tolist() == [2, 2]  # runs that differ only in their seed are one row
    expected = 100 * np.mean([run.test_error for run in runs if run.weights > 1500])
    assert measured["last_percent"].iloc[1] == pytest.approx(expected)
    assert measured["error_percent"].isna().all()
    assert "*6.08*" in table.to_markdown()
    assert "CART" in table.to_html()
    assert len(image_tables.comparison_table(runs, baselines, "mnist").rows) == 2 + len(
        IMAGE_BASELINES
    )


def test_the_list_of_runs_has_their_cost():
    cart = ImageBaseline("mnist", "CART", 0, 0.12, None, 9.5)
    runs = image_tables.run_list(ImageResults(baselines=[cart])).frame.set_index("run")
    assert len(runs) == len(study.image_study())
    assert runs.loc["CART-mnist", ["seconds", "status"]].tolist() == [9.5, "finished"]
    others = runs.drop(index="CART-mnist")
    assert set(others["status"]) == {"missing"} and others["seconds"].isna().all()


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


def small_study(monkeypatch, names):
    def result(images, name):
        return [ImageBaseline(images.name, name, 0, 0.1, None, 1.0)]

    tasks = [ImageTask(f"{n}-mnist", "mnist", 0, partial(result, name=n)) for n in names]
    monkeypatch.setattr(study, "image_study", lambda: tasks)


def test_a_study_continues_from_the_published_file(images, tmp_path, monkeypatch):
    small_study(monkeypatch, ["one", "two"])
    path = tmp_path / "images.json.xz"
    assert study.run_study(path, lambda name: images, "one-*", lambda text: None) == 1
    write_results(load_results(path), tmp_path / "copy.json.xz")
    reported = []
    assert study.run_study(tmp_path / "copy.json.xz", lambda name: images, "*", reported.append)
    assert reported == ["two-mnist"]
    assert study.run_study(tmp_path / "copy.json.xz", lambda name: images) == 0
    assert [b.model for b in load_results(tmp_path / "copy.json.xz").baselines] == ["one", "two"]
    assert len(load_results(path).baselines) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["copy.json.xz", "images.json.xz"]


def test_a_run_of_another_process_is_left_to_it(images, tmp_path, monkeypatch):
    small_study(monkeypatch, ["one", "two"])
    path = tmp_path / "images.json.xz"
    with RunLocks(path) as other:
        assert other.take(("one-mnist",))
        assert study.run_study(path, lambda name: images, report=lambda text: None) == 1
    assert [b.model for b in load_results(path).baselines] == ["two"]


def test_every_published_run_is_one_of_the_study():
    planned = {task.name for task in study.image_study()}
    results = load_results(DOCS / "reproduction" / "images.json.xz")
    results.drawn_trees.clear()
    assert {result.name for result in results.all()} <= planned


def test_the_command(tmp_path, capsys, monkeypatch):
    write_spots(tmp_path / "data")
    small_study(monkeypatch, ["one", "two"])
    command = ["paper", "images", "--store", str(tmp_path / "s"), "--data-home"]
    command.append(str(tmp_path / "data"))
    assert main([*command, "--only", "one-*"]) == 0
    assert "1 runs computed" in capsys.readouterr().out
    assert main([*command, "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [["one-mnist", "finished"], ["two-mnist"]]
    assert main([*command[:-1], str(tmp_path)]) == 3
    assert "mnist" in capsys.readouterr().err


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
    run = run_images(validation_split(images), n_weights=6_000, epochs=2)
    assert run.test_error < 0.09
