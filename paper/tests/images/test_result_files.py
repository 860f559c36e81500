"""The file of results on images: complete results, or an error that names the invalid one."""

import json
import lzma

import pytest

from bneuralt.files import ModelFileError
from bneuralt_paper.images.image_baselines import ImageBaseline
from bneuralt_paper.images.image_runs import ImageRun
from bneuralt_paper.images.k_trees import KTreeTrial, KTreeTrials
from bneuralt_paper.images.paper_runs import PaperImageRun
from bneuralt_paper.images.result_files import (
    DrawnTree,
    ImageResults,
    load_results,
    write_results,
)

CART = ImageBaseline("mnist", "CART", 0, 0.12, None, 9.5)
MLP = ImageBaseline("fashion_mnist", "MLP", 0, 0.13, 23_860, 60.0)
TRIALS = KTreeTrials(1, 2047, 2000, 0, [KTreeTrial(0, 0.92, 2000, 30.0, False)])
RUN = ImageRun("modern-mnist-24000-s0", "mnist", 0, 25, 1, 24_000, 0.02, 1.0)
PAPER = PaperImageRun(
    "20K-d5-m10-p4-r.01-s0", "20K", 5, 10, 0.4, 0.01, 0, 1, 20_182, 23_835, 0.07, 0.06,
    [0.5], [0.07], 9.5, {"test": [0.99]}, {"test": [[[0.0, 1.0], [0.0, 1.0]]]},
)  # fmt: skip
TREE = DrawnTree("iris", 3, [-1, -1, -1], [0, 0, 1, 1, 2, 2], 0.1)
RESULTS = ImageResults([PAPER], [RUN], [CART, MLP], [TRIALS], [TREE])
NAMES = ["paper", "run", "cart", "mlp", "k1", "tree"]


@pytest.fixture
def path(tmp_path):
    write_results(RESULTS, tmp_path / "images.json.xz")
    return tmp_path / "images.json.xz"


def texts_of(path):
    return lzma.decompress(path.read_bytes()).decode().split("\0")


def write_texts(path, texts):
    path.write_bytes(lzma.compress("\0".join(texts).encode()))


def test_all_kinds_come_back(path):
    assert load_results(path) == RESULTS


def test_the_same_results_are_the_same_bytes(path):
    first = path.read_bytes()
    write_results(ImageResults([PAPER], [RUN], [MLP, CART], [TRIALS], [TREE]), path)
    assert path.read_bytes() == first


def test_a_file_of_another_kind(path):
    path.write_bytes(b"no archive")
    with pytest.raises(ModelFileError, match=r"images\.json\.xz: this is no file of image results"):
        load_results(path)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("run", lambda d: d["result"].pop("seed"), "\"result\" lacks the key 'seed'"),
        ("run", lambda d: d["result"].update(seed="0"), "seed\" is '0', not an integer"),
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
def test_invalid_results_are_named(path, name, change, message):
    texts, i = texts_of(path), NAMES.index(name)
    data = json.loads(texts[i])
    change(data)
    write_texts(path, [*texts[:i], json.dumps(data), *texts[i + 1 :]])
    with pytest.raises(ModelFileError, match=rf"images\.json\.xz, result {i}: .*{message}"):
        load_results(path)


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"name": "CART"}', "\N{SNOWMAN}"])
def test_texts_that_are_no_results_are_named(path, text):
    write_texts(path, [*texts_of(path), text])
    with pytest.raises(ModelFileError, match=r"images\.json\.xz, result 6"):
        load_results(path)


def test_a_run_counts_once(path):
    texts = texts_of(path)
    write_texts(path, [*texts, texts[1]])
    with pytest.raises(ModelFileError, match=r"result 6: modern-mnist-24000-s0 is there twice"):
        load_results(path)
