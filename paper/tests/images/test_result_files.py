"""Folders of results on images: complete results, or an error that names the invalid file."""

import json

import pytest

from bneuralt.cli.program import main
from bneuralt.files import ModelFileError
from bneuralt_paper.images.image_baselines import ImageBaseline
from bneuralt_paper.images.image_runs import run_images
from bneuralt_paper.images.k_trees import KTreeTrial, KTreeTrials
from bneuralt_paper.images.result_files import load_results, save_result, save_run
from paper.tests.helpers.spots import spots

CART = ImageBaseline("mnist", "CART", 0, 0.12, None, 9.5)
MLP = ImageBaseline("fashion_mnist", "MLP", 0, 0.13, 23_860, 60.0)
TRIALS = KTreeTrials(1, 2047, 2000, 0, [KTreeTrial(0, 0.92, 2000, 30.0, False)])


@pytest.fixture(scope="module")
def trained():
    return run_images(spots(), n_weights=1500, epochs=1, n_jobs=1)


@pytest.fixture
def folder(trained, tmp_path):
    save_run(*trained, tmp_path / "run.json")
    for name, result in {"cart": CART, "mlp": MLP, "k1": TRIALS}.items():
        save_result(result, tmp_path / f"{name}.json")
    (tmp_path / "notes.txt").write_text("ignored")
    return tmp_path


def test_all_kinds_come_back(folder, trained):
    results = load_results(folder)
    assert results.runs == [trained[0]]
    assert results.trained[0][1].tree_ == trained[1].tree_
    assert results.baselines == [CART, MLP] and results.k_trees == [TRIALS]
    provenance = results.provenance()["images"]
    assert provenance == "trained models: 1, scikit-learn models: 2, k-trees: 1"


def changed(path, change):
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("run", lambda d: d["extra"].pop("run"), "not written by `bneuralt paper mnist`"),
        ("run", lambda d: d["extra"]["run"].pop("seed"), "\"run\" lacks the key 'seed'"),
        ("run", lambda d: d["extra"]["run"].update(seed="0"), "seed\" is '0', not an integer"),
        ("run", lambda d: d["extra"]["run"].update(protocol="best"), "\"run.protocol\" is 'best'"),
        ("run", lambda d: d["extra"]["run"]["history"].update(train=3), "history.train\" is 3"),
        ("run", lambda d: d["trees"][0]["tree"].update(n_leaves=1), "leaf_weight"),
        ("cart", lambda d: d.update(format="other"), "its \"format\" is 'other'"),
        ("cart", lambda d: d.update(version=9), "version 9"),
        ("cart", lambda d: d.update(more=1), "does not belong there: 'more'"),
        ("cart", lambda d: d.update(result=[]), "\"result\" is \\[\\], not an object"),
        ("mlp", lambda d: d["result"].update(weights=1.5), "weights\" is 1.5, not an integer"),
        ("k1", lambda d: d["result"]["trials"][0].update(stuck=0), r"trials\[0\].stuck\" is 0"),
        ("k1", lambda d: d["result"].update(trials=[]), "trials\" is \\[\\], not a list"),
    ],
)  # fmt: skip
def test_broken_and_foreign_files_are_named(folder, name, change, message):
    changed(folder / f"{name}.json", change)
    with pytest.raises(ModelFileError, match=rf"{name}\.json: .*{message}"):
        load_results(folder)


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"name": "CART"}', "\N{SNOWMAN}"])
def test_invalid_files_give_a_one_line_error(folder, text, capsys):
    (folder / "foreign.json").write_text(text, encoding="utf-8")
    assert main(["paper", "report", "--images", str(folder), "--out", str(folder / "out")]) == 4
    said = capsys.readouterr().err
    assert "foreign.json" in said and said.count("\n") == 1
    assert not (folder / "out").exists()


def test_a_run_counts_once(folder, trained):
    save_run(*trained, folder / "twin.json")
    with pytest.raises(ModelFileError, match=r"twin\.json: .* same run as in run\.json"):
        load_results(folder)


def test_folders_without_results(tmp_path, capsys):
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert main(["paper", "report", "--images", str(folder)]) == 4
        assert str(folder) in capsys.readouterr().err
