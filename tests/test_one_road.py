"""The same table is the same model, whatever way it comes in."""

import datetime as dt
import json
import sys
import tempfile
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.dataset
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from bneuralt import BNeuralTRegressor, open_table
from bneuralt.tables.block_files import TableFile
from bneuralt.tables.block_sources import SOURCES, FileSource
from bneuralt.tables.csv_files import TableError
from bneuralt.warnings import TextValuesWarning
from tests.helpers import messy_tables as messy
from tests.helpers.quick import cases


@pytest.mark.timeout(1800)
@settings(
    max_examples=cases(200, quick=3),
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],  # a smaller seed is no simpler table
)
@given(table=messy.tables())
def test_every_road_gives_the_same_model_and_the_same_predictions(table):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = messy.write_files(table, folder)
        frames = messy.frames_of(table, paths)
        expected = messy.fitted(table, frames["pandas"])
        inputs = expected.encoder_.encode(messy.features(frames["pandas"]))
        content = messy.described(expected, folder)
        predicted = expected.predict(messy.features(frames["pandas"]))
        models = {}
        for road, frame in frames.items():
            models[road] = messy.fitted(table, frame)
        for i, (road, path) in enumerate(paths.items()):
            models[road] = messy.trained(path, folder / f"model{i}.json")
        blocks = messy.in_blocks(frames)
        for road, opened in blocks.items():
            assert opened.whole() is None
            in_blocks = messy.fitted(table, opened)
            assert in_blocks.encoder_.to_plain() == expected.encoder_.to_plain(), road
        for road, model in models.items():
            kinds = [feature.kind for feature in model.encoder_.features]
            assert kinds == [feature.kind for feature in expected.encoder_.features], road
            assert model.encoder_.to_plain() == expected.encoder_.to_plain(), road
            assert messy.described(model, folder) == content, road
        for road, frame in {**frames, **blocks}.items():
            assert np.array_equal(messy.predictions(expected, frame), predicted), road
            if not hasattr(frame, "blocks"):
                seen = expected.encoder_.encode(messy.features(frame))
                assert np.array_equal(seen, inputs), road
        for road, path in paths.items():
            seen = messy.program_predictions(folder / "model0.json", path)
            assert np.array_equal(seen, predicted), road


def test_every_source_and_every_format_is_a_road(tmp_path):
    table = {"base": [0.5, 1.5, 2.5], "y": ["up", "up", "down"]}
    paths = messy.write_files(table, tmp_path)
    opened = [f for f in messy.frames_of(table, paths).values() if hasattr(f, "blocks")]
    assert {type(each.source) for each in opened} == set(SOURCES)
    formats = {type(file) for path in paths.values() for file in FileSource(path).files}
    assert formats == {each for each in _formats(TableFile) if "title" in vars(each)} - {TableFile}


def _formats(base):
    return {base}.union(*map(_formats, base.__subclasses__()))


# -- cases that were three models, or an error --------------------------------------------


@pytest.fixture
def shops():
    """A table with codes, categories, keys, thousands and times of day."""
    rng = np.random.default_rng(0)
    n = 240
    code, size = rng.integers(0, 6, n), rng.normal(size=n)
    return {
        "id": (rng.permutation(n) + 1000).tolist(),
        "zip": [f"{c * 501 + 501:05d}" for c in code],
        "shop": [str(s) for s in rng.integers(1, 9, n)],
        "big": [f"{x:,}" for x in rng.integers(200, 20_000, n)],
        "opens": [dt.time(int(h), 30) for h in rng.integers(6, 12, n)],
        "size": size.round(6).tolist(),
        "y": ["up" if s + (c % 2) > 0.5 else "down" for s, c in zip(size, code, strict=True)],
    }


def test_a_model_of_a_file_predicts_the_folder_of_its_rows(shops, tmp_path):
    paths = messy.write_files(shops, tmp_path)
    model = messy.trained(paths["t.csv"], tmp_path / "m.json")
    kinds = dict(zip(model.feature_names_in_, model.encoder_.features, strict=True))
    assert kinds["zip"].kind == "category" and "00501" in kinds["zip"].categories
    assert kinds["id"].kind == "unused" and kinds["big"].notation.thousands == ","
    assert kinds["opens"].notation.is_clock
    whole = messy.run("predict", tmp_path / "m.json", paths["t.csv"])
    assert whole.startswith("row,prediction,id\n1,")  # keys stay in the output
    for road, path in paths.items():
        seen = messy.program_predictions(tmp_path / "m.json", path)
        assert seen.tolist() == [line.split(",")[1] for line in whole.splitlines()[1:]], road
    assert messy.run("predict", tmp_path / "m.json", paths["csv files"]) == whole
    assert messy.run("predict", tmp_path / "m.json", paths["t.csv"], "--out", "-") == whole


def test_a_model_saved_in_python_scores_a_file_that_has_its_target(shops, tmp_path):
    frame = messy.as_pandas(shops)
    model = messy.fitted(shops, frame)
    model.save(tmp_path / "m.json")
    path = messy.write_files(shops, tmp_path)["parquet files"]
    answer = json.loads(messy.run("predict", tmp_path / "m.json", path, "--json"))
    assert answer["scores"]["accuracy"] == model.score(messy.features(frame), frame["y"])


def test_categories_of_a_frame_are_categories_of_its_files(shops, tmp_path):
    frame = messy.as_pandas(shops).astype({"shop": "category"})
    (tmp_path / "parts").mkdir()
    frame.to_parquet(tmp_path / "a.parquet", index=False)
    for i in range(2):
        part = frame.iloc[i * 120 : (i + 1) * 120]
        part.to_parquet(tmp_path / "parts" / f"{i}.parquet", index=False)
    expected = messy.fitted(shops, frame)
    assert expected.encoder_.features[2].kind == "category"
    for path in (tmp_path / "a.parquet", tmp_path / "parts"):
        model = messy.trained(path, tmp_path / "m.json")
        assert model.encoder_ == expected.encoder_
        assert np.array_equal(messy.program_predictions(tmp_path / "m.json", path),
                              expected.predict(frame.drop(columns="y")))  # fmt: skip


@pytest.mark.parametrize("data", ["csv files", "parquet files", "t.parquet", "t.jsonl", "t.xlsx"])
def test_every_command_takes_what_train_takes(shops, tmp_path, data):
    paths = messy.write_files(shops, tmp_path)
    model, path = tmp_path / "m.json", paths[data]
    messy.trained(paths["t.csv"], model)
    assert "Mean absolute contributions" in messy.run("explain", model, path)
    small = tmp_path / "small.json"
    assert "weights kept" in messy.run(
        "compact", model, path, "--max-weights", 8, "--cv", 0, "--out", small
    )
    assert "Card of 240 rows" in messy.run("card", model, path, "--out", tmp_path / "card.html")
    for name in ("page.html", "tree.svg"):
        messy.run("draw", model, "--example", path, "--out", tmp_path / name)
    exported = ("export", model, "--to", "c", "--dtype", "int8", "--data", path)
    messy.run(*exported, "--out", tmp_path / "m.h")


def test_targets_with_units_are_numbers_on_every_road(tmp_path):
    rng = np.random.default_rng(0)
    table = {"a": rng.normal(size=90).round(9).tolist()}
    numbers = [round(3221.11 + 500 * a, 2) for a in table["a"]]
    table["y"] = [f"{number:,.2f} EUR" for number in numbers]
    X = messy.as_pandas({"a": table["a"]})
    expected = BNeuralTRegressor(random_state=0, **messy.FAST).fit(X, numbers)
    with pytest.warns(TextValuesWarning, match="numbers: y .'.* EUR' is "):
        model = BNeuralTRegressor(random_state=0, **messy.FAST).fit(X, table["y"])
    paths = messy.write_files(table, tmp_path)
    models = {road: messy.trained(path, tmp_path / "m.json") for road, path in paths.items()}
    frames = messy.frames_of(table, paths)
    opened = {road: frame for road, frame in frames.items() if hasattr(frame, "blocks")}
    for road, frame in {**opened, **messy.in_blocks(frames)}.items():
        again = BNeuralTRegressor(random_state=0, **messy.FAST)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models[road] = again.fit(frame)
        assert models[road].score(frame) == again.score(X, numbers), road
    for road, each in {"list": model, **models}.items():
        if not road.endswith("in blocks"):
            assert np.array_equal(each.predict(X), expected.predict(X)), road
    assert model.score(X, table["y"]) == expected.score(X, numbers)


def test_a_target_of_another_unit_is_named(tmp_path):
    for i in range(3):
        unit = "kg" if i == 2 else "EUR"
        rows = "".join(f"{a},{a * 10:.1f} {unit}\n" for a in range(40))
        (tmp_path / f"{i}.csv").write_text("a,y\n" + rows)
    blocks = replace(open_table(tmp_path, "y"), max_memory=2_000)
    with pytest.raises(TableError, match=r"2\.csv: the target has '0\.0 kg' in row 1, which is no"):
        BNeuralTRegressor().fit(blocks)


def test_an_empty_file_of_json_lines_has_no_rows(tmp_path):
    (tmp_path / "0.jsonl").write_text('{"a": 1, "y": 2}\n' * 3)
    (tmp_path / "1.jsonl").write_text("\n")
    assert open_table(tmp_path, "y").count_rows() == 3


def test_a_dataset_whose_files_have_other_types_is_refused(tmp_path):
    pd.DataFrame({"a": pd.to_datetime(["2020-01-01"]), "y": [1.0]}).to_parquet(tmp_path / "0.pq")
    pd.DataFrame({"a": [1.5], "y": [1.0]}).to_parquet(tmp_path / "1.pq")
    with pytest.raises(TableError, match=r"1\.pq: cannot be read"):
        BNeuralTRegressor().fit(open_table(pyarrow.dataset.dataset(tmp_path), "y"))


@pytest.mark.parametrize(
    "name, limit", [("t.csv", 4), ("csv files", 4), ("t.parquet", 4), ("parquet files", 4)]
)
def test_files_are_opened_for_their_form_their_rows_and_their_checksum(
    shops, tmp_path, name, limit
):
    path = messy.write_files(shops, tmp_path)[name]
    opened = Counter()

    def note(event, arguments):
        if event == "open" and str(arguments[0]).startswith(str(path)):
            opened[str(arguments[0])] += 1

    notes.append(note)
    try:
        messy.trained(path, tmp_path / "m.json")
    finally:
        notes.remove(note)
    assert all(count <= limit for count in opened.values()), opened


def test_tables_in_blocks_are_read_twice_and_the_program_looks_once_more(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "in").mkdir()
    paths = [tmp_path / "in" / f"{i}.csv" for i in range(3)]
    for path in paths:
        pd.DataFrame({"a": rng.normal(size=3000), "y": rng.normal(size=3000)}).to_csv(path)
    opened = Counter()
    notes.append(lambda event, arguments: opened.update([str(arguments[0])] * (event == "open")))
    try:
        table = open_table(tmp_path / "in", "y", max_memory="1.1MB")
        assert table.whole() is None
        opened.clear()
        BNeuralTRegressor(random_state=0, **messy.FAST).fit(table)
        assert [opened[str(path)] for path in paths[1:]] == [2, 2]
        assert opened[str(paths[0])] <= 4  # two looks at its beginning
        opened.clear()
        options = ("--cv", 0, "--set", "max_epochs=2", "--max-memory", "1.1MB")
        messy.run("train", tmp_path / "in", "--target", "y", "--out", tmp_path / "m.json", *options)
        assert [opened[str(path)] for path in paths[1:]] == [5, 5]  # two of them for the form
    finally:
        notes.pop()


notes = []
sys.addaudithook(lambda event, arguments: [note(event, arguments) for note in notes])
