"""Folders of results on images: complete results, or an error that names the invalid file."""

import json

import pytest

from bneuralt.files import ModelFileError
from bneuralt_paper.images.image_baselines import ImageBaseline
from bneuralt_paper.images.image_runs import ImageRun
from bneuralt_paper.images.k_trees import KTreeTrial, KTreeTrials
from bneuralt_paper.images.paper_runs import PaperImageRun
from bneuralt_paper.images.result_files import (
    DrawnTree,
    load_results,
    publish_results,
    save_result,
)

CART = ImageBaseline("mnist", "CART", 0, 0.12, None, 9.5)
MLP = ImageBaseline("fashion_mnist", "MLP", 0, 0.13, 23_860, 60.0)
TRIALS = KTreeTrials(1, 2047, 2000, 0, [KTreeTrial(0, 0.92, 2000, 30.0, False)])


RUN = ImageRun("mnist", "modern", "honest", 0, 25, 1, 24_000, 0.02, 1.0, 1, {"train": [0.1]})
PAPER = PaperImageRun(
    "20K-d5-m10-p4-r.01-s0", "20K", 5, 10, 0.4, 0.01, 0, "epoch", 1, 20_182, 23_835, 0.07, 0.06,
    [0.5], [0.07], 9.5, {"test": [0.99]}, {"test": [[[0.0, 1.0], [0.0, 1.0]]]},
)  # fmt: skip
TREE = DrawnTree("iris", 3, [-1, -1, -1], [0, 0, 1, 1, 2, 2], 0.1)


@pytest.fixture
def folder(tmp_path):
    results = {"run": RUN, "cart": CART, "mlp": MLP, "k1": TRIALS, "paper": PAPER, "tree": TREE}
    for name, result in results.items():
        save_result(result, tmp_path / f"{name}.json")
    (tmp_path / "notes.txt").write_text("ignored")
    return tmp_path


def test_all_kinds_come_back(folder):
    results = load_results(folder)
    assert results.runs == [RUN] and results.paper_runs == [PAPER]
    assert results.baselines == [CART, MLP] and results.k_trees == [TRIALS]
    assert results.drawn_trees == [TREE]
    provenance = results.provenance()["images"]
    assert "scikit-learn models: 2" in provenance and "trials of k-trees: 1" in provenance


def test_published_results_come_back(folder):
    results = load_results(folder)
    for name in ("one.json.xz", "two.json.xz"):
        publish_results(results, folder / name)
    assert load_results(folder / "one.json.xz").all() == results.all()
    assert (folder / "one.json.xz").read_bytes() == (folder / "two.json.xz").read_bytes()
    (folder / "two.json.xz").write_bytes(b"no archive")
    with pytest.raises(ModelFileError, match=r"two\.json\.xz: this is no file of image results"):
        load_results(folder / "two.json.xz")


def changed(path, change):
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("run", lambda d: d["result"].pop("seed"), "\"result\" lacks the key 'seed'"),
        ("run", lambda d: d["result"].update(seed="0"), "seed\" is '0', not an integer"),
        ("run", lambda d: d["result"]["history"].update(train=3), "history.train\" is 3"),
        ("paper", lambda d: d["result"]["areas"].update(test="x"), "areas.test\" is 'x'"),
        ("cart", lambda d: d.update(format="other"), "\"format\" is 'other'"),
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
def test_invalid_files_are_named(folder, text):
    (folder / "foreign.json").write_text(text, encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"foreign\.json"):
        load_results(folder)


def test_a_run_counts_once(folder):
    save_result(RUN, folder / "twin.json")
    with pytest.raises(ModelFileError, match=r"twin\.json: .* same run as in run\.json"):
        load_results(folder)


def test_folders_without_results(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(ModelFileError, match="contains no"):
            load_results(folder)
