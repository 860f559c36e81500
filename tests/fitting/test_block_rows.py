"""Fits and predictions from tables that are read in blocks."""

import errno
import os
import re
import subprocess
import sys
import time
import warnings
from numbers import Integral

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.utils._param_validation import Interval, StrOptions

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    EvolvedTreeRegressor,
    Growth,
    TableTransformer,
    TrainingSettings,
    open_table,
)
from bneuralt.fitting.plan import plan_tree
from bneuralt.tables import mapped
from bneuralt.tables.csv_files import TableError
from tests.helpers.block_tables import LITTLE, sales, write_parts
from tests.helpers.quick import one_of_each

SALES = sales()
COLUMNS = ["size", "age", "shop", "sold", "rooms"]
TARGETS = {"Classifier": "kind", "Regressor": "price"}
FAST = {"n_weights": 60, "max_epochs": 8, "random_state": 0}
KINDS = [
    BNeuralTClassifier,
    BNeuralTRegressor,
    BNeuralForestClassifier,
    BNeuralForestRegressor,
]


def target_of(kind):
    return next(target for name, target in TARGETS.items() if name in kind.__name__)


def table_for(kind, source=(SALES[:2500], SALES[2500:]), max_memory=LITTLE):
    table = open_table(list(source) if isinstance(source, tuple) else source, target_of(kind),
                       max_memory=max_memory)  # fmt: skip
    return table.select(COLUMNS)


def made(kind, **parameters):
    few = {"n_estimators": 2} if "Forest" in kind.__name__ else {}
    return kind(**{**FAST, **few, **parameters})


def trees(model):
    return [member.tree_ for member in getattr(model, "estimators_", [model])]


# -- the same as from memory --------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", ["parquet", "feather", "csv.gz"])
def test_a_table_of_one_block_gives_the_model_of_the_frame(kind, ending, tmp_path):
    pattern = write_parts(SALES, tmp_path, ending=ending)
    frame, y = SALES[COLUMNS], SALES[target_of(kind)]
    expected = made(kind, conformal=0.2).fit(frame, y) if "Reg" in kind.__name__ else None
    model = made(kind, conformal=0.2) if expected else made(kind)
    expected = expected or made(kind).fit(frame, y)
    table = table_for(kind, pattern, "1GB")
    model.fit(table)
    assert trees(model) == trees(expected)
    assert model.encoder_ == expected.encoder_
    assert model.target_names_ == expected.target_names_
    np.testing.assert_array_equal(model.feature_names_in_, expected.feature_names_in_)
    np.testing.assert_array_equal(model.predict(table), expected.predict(frame))
    assert model.score(table) == expected.score(frame, y)


def test_a_table_of_numbers_only_gives_the_model_of_the_frame(tmp_path):
    frame = SALES[["size", "rooms", "price"]]
    pattern = write_parts(frame, tmp_path)
    model = made(BNeuralTRegressor).fit(open_table(pattern, "price"))
    expected = made(BNeuralTRegressor).fit(frame[["size", "rooms"]], frame["price"])
    assert trees(model) == trees(expected) and model.encoder_ == expected.encoder_


@pytest.mark.parametrize("kind", KINDS)
def test_several_blocks_give_a_model_as_good_as_that_of_the_frame(kind):
    table, X, y = table_for(kind), SALES[COLUMNS], SALES[target_of(kind)]
    assert table.whole() is None
    model, expected = (made(kind, max_epochs=20) for _ in range(2))
    model.fit(table)
    expected.fit(X, y)
    assert model.score(X, y) > expected.score(X, y) - 0.02 > 0.8
    assert model.score(table) == pytest.approx(model.score(X, y), abs=1e-12)
    np.testing.assert_array_equal(model.predict(table), model.predict(X))
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(table), model.predict_proba(X))
    assert model.feature_importances_.argmax() == expected.feature_importances_.argmax()


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_follows_the_seed_and_not_the_blocks(kind):
    parts = tuple(SALES[i : i + 700] for i in range(0, len(SALES), 700))
    models = [
        made(kind).fit(table_for(kind)),
        made(kind, n_jobs=2).fit(table_for(kind, parts)),
    ]
    assert trees(models[0]) == trees(models[1])
    assert trees(made(kind, random_state=1).fit(table_for(kind))) != trees(models[0])


def test_the_same_trees_over_the_processes_of_joblib():
    table = table_for(BNeuralForestRegressor)
    expected = made(BNeuralForestRegressor, max_samples=0.7).fit(table)
    with parallel_config("loky", n_jobs=2):
        model = made(BNeuralForestRegressor, max_samples=0.7, n_jobs=2).fit(table)
    assert trees(model) == trees(expected)


def test_trees_of_a_forest_on_very_many_rows_draw_blocks_of_them(monkeypatch):
    monkeypatch.setattr("bneuralt.fitting.forest.ROWS_PER_TREE", 1500)
    monkeypatch.setattr("bneuralt.fitting.rows.BLOCK_BYTES", 2**12)
    drawn = []

    def planned(problem, *arguments, **options):
        drawn.append(problem.rows.index)
        return plan_tree(problem, *arguments, **options)

    monkeypatch.setattr("bneuralt.fitting.forest.plan_tree", planned)
    table, five = table_for(BNeuralForestRegressor), {"n_estimators": 5, "weight_decay": 0.01}
    forests = [made(BNeuralForestRegressor, **five, n_jobs=jobs).fit(table) for jobs in (1, 2)]
    assert trees(forests[0]) == trees(forests[1])
    assert all(1000 < index.size <= 1500 and np.all(np.diff(index) > 0) for index in drawn)
    assert len({tuple(index) for index in drawn}) == 5
    assert forests[0].score(table) > 0.5
    stopped = made(BNeuralForestRegressor, **five, n_jobs=2)
    stopped.fit(table, callback=lambda state: state.n_done == 2)
    assert len(stopped.estimators_) == 2


def test_the_order_of_the_files_is_the_order_of_the_rows(tmp_path):
    pattern = write_parts(SALES, tmp_path)
    model = made(BNeuralTRegressor).fit(table_for(BNeuralTRegressor, pattern))
    again = made(BNeuralTRegressor).fit(table_for(BNeuralTRegressor))
    assert trees(model) == trees(again)


# -- parameters ---------------------------------------------------------------------------

#: Values of parameters whose constraints do not say what they may be.
VALUES = {
    "monotonic_cst": [{"size": 1}],
    "interaction_cst": ["no_interactions", [{0, 1}, {2, 3, 4}]],
    "categorical_features": [["rooms"], [4]],
    "growth": [Growth(n_init=2), Growth(feature_sampling=[1.0, 1.0, 0.0, 1.0, 1.0])],
    "training": [TrainingSettings(schedule="constant")],
    "random_state": [np.random.RandomState(0)],
    "quantiles": [[0.5]],
    "class_weight": ["balanced", {"cheap": 2.0, "usual": 1.0, "dear": 1.0}],
    "verbose": [1],
    "max_epochs": [12],
    "n_estimators": [1],
    "max_weights": [30],
    "n_weights": [40, "readable"],
    "n_jobs": [2],
    "batch_size": [64],
    "conformal": [0.3, 500],
    "max_samples": [0.5, 1000],
    "validation_fraction": [0.3],
}


def values_of(kind, name):
    """Return values of a parameter other than its default."""
    if name in VALUES:
        return VALUES[name]
    default, values = getattr(kind(), name), []
    for constraint in kind()._parameter_constraints[name]:
        if isinstance(constraint, StrOptions):
            values += sorted(constraint.options)
        elif isinstance(constraint, Interval):
            low = 1.0 if constraint.left in (None, -np.inf) else constraint.left
            values.append(int(low) + 1 if constraint.type is Integral else low + 0.01)
        elif constraint == "boolean":
            values += [True, False]
        elif constraint is None:
            values.append(None)
    return [value for value in values if value != default] or [default]


ALL = [
    (kind, name, value)
    for kind in KINDS
    for name in kind().get_params(deep=False)
    for value in values_of(kind, name)
]


@pytest.mark.parametrize(
    ("kind", "name", "value"), one_of_each(ALL, lambda row: (row[1], repr(row[2])))
)
def test_every_parameter_works_from_blocks_as_from_memory(kind, name, value, capsys):
    """A parameter that is refused for a frame is refused for a table, in the same words."""
    parameters = {name: value}
    if name == "monotonic_cst" and kind in (BNeuralTClassifier, BNeuralForestClassifier):
        pytest.skip("it needs two classes")
    outcomes, few = [], SALES[:2500]
    table = table_for(kind, (few[:1000], few[1000:]))
    assert table.whole() is None
    for X, y in ((few[COLUMNS], few[target_of(kind)]), (table, None)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = made(kind, **parameters).fit(X, y)
                outcomes.append(model.score(X, y))
        except (TypeError, ValueError) as error:
            outcomes.append(str(error))
    from_frame, from_blocks = outcomes
    if isinstance(from_frame, str):
        assert re.sub(r"[-.\d]+", "N", from_blocks) == re.sub(r"[-.\d]+", "N", from_frame)
    else:
        assert from_blocks > from_frame - 0.1 * max(1.0, abs(from_frame))


def test_early_stopping_conformal_and_out_of_bag_scores():
    table = table_for(BNeuralForestRegressor)
    model = made(BNeuralForestRegressor, max_epochs=10, early_stopping="refit", conformal=0.2)
    model.fit(table)
    low, high = model.predict_interval(table, coverage=0.8).T
    inside = (low <= SALES["price"]) & (SALES["price"] <= high)
    assert 0.75 < inside.mean() < 0.85
    assert all(member.best_epoch_ is not None for member in model.estimators_)
    forest = made(BNeuralForestClassifier, n_estimators=4, max_samples=0.5)
    forest.fit(table_for(BNeuralForestClassifier))
    assert forest.oob_score_ == pytest.approx(forest.score(SALES[COLUMNS], SALES["kind"]), abs=0.05)


def test_validation_rows_from_blocks():
    kind = BNeuralTRegressor
    train, test = table_for(kind).split(0.5)
    model = made(kind, early_stopping=True, max_epochs=10).fit(train, X_val=test)
    expected = made(kind, early_stopping=True, max_epochs=10)
    frame = pd.concat([block.frame.as_data_frame() for block in test.blocks()])
    expected.fit(train, X_val=frame[COLUMNS], y_val=frame["price"])
    np.testing.assert_allclose(model.history_["val_loss"], expected.history_["val_loss"], rtol=1e-3)
    with pytest.raises(ValueError, match="y_val must be None"):
        model.fit(train, X_val=test, y_val=[1.0])


@pytest.mark.filterwarnings("ignore:not seen in training")
def test_weights_from_an_array_and_from_a_column():
    weight = np.where(SALES["shop"] == "west", 0.0, 1.0 + np.arange(len(SALES)) % 3)
    frame = SALES.assign(count=weight)
    table = open_table([frame[:3000], frame[3000:]], "price", max_memory=LITTLE)
    table = table.without(["kind"])
    by_name = made(BNeuralTRegressor).fit(table, sample_weight="count")
    by_array = made(BNeuralTRegressor).fit(table.without(["count"]), sample_weight=weight)
    assert trees(by_name) == trees(by_array)
    assert "west" not in by_name.encoder_.features[2].values
    score = by_name.score(table, sample_weight="count")
    assert score == pytest.approx(by_name.score(SALES[COLUMNS], SALES["price"], weight))
    with pytest.raises(ValueError, match=r"sample_weight has 5 entries"):
        made(BNeuralTRegressor).fit(table, sample_weight=np.ones(5))
    with pytest.raises(ValueError, match=r"sample_weight has 7000 entries, the table has 6000"):
        made(BNeuralTRegressor).fit(table, sample_weight=np.ones(7000))
    frame.loc[4000, "count"] = -1.0
    table = open_table([frame[:3000], frame[3000:]], "price", max_memory=LITTLE)
    with pytest.raises(TableError, match=r"frame 1: column 'count', the weight"):
        made(BNeuralTRegressor).fit(table, sample_weight="count")


def test_warm_start_continues_from_blocks():
    table = table_for(BNeuralTRegressor)
    model = made(BNeuralTRegressor, warm_start=True).fit(table)
    first = model.score(table)
    assert model.set_params(max_epochs=20).fit(table).score(table) > first
    forest = made(BNeuralForestRegressor, warm_start=True).fit(table)
    assert len(forest.set_params(n_estimators=3).fit(table).estimators_) == 3


def test_several_targets():
    table = open_table([SALES[:3000], SALES[3000:]], ["price", "size"], max_memory=LITTLE)
    table = table.without(["kind"])
    model = made(BNeuralTRegressor, max_epochs=10).fit(table)
    assert model.target_names_ == ("price", "size") and model.predict(table).shape == (6000, 2)
    frame = SALES.assign(a=SALES["price"] > 3, b=SALES["size"] > 0)
    labels = open_table([frame], ["a", "b"], max_memory=LITTLE).select(COLUMNS)
    model = made(BNeuralTClassifier, max_epochs=10).fit(labels)
    assert model.multilabel_ and model.score(labels) > 0.6


def test_labels_of_all_types_are_those_of_the_column(tmp_path):
    for labels in (SALES["rooms"] % 3, SALES["rooms"] > 3, SALES["kind"].astype("category")):
        frame = SALES[COLUMNS].assign(y=labels)
        pattern = write_parts(frame, tmp_path)
        table = open_table(pattern, "y", max_memory=LITTLE)
        model = made(BNeuralTClassifier).fit(table)
        expected = made(BNeuralTClassifier).fit(SALES[COLUMNS], labels)
        assert model.classes_.tolist() == expected.classes_.tolist()
        assert model.classes_.dtype == expected.classes_.dtype


def test_large_numbers_of_a_small_range_keep_their_digits():
    x = np.linspace(0, 1, 40_000)
    frame = pd.DataFrame({"x": 1e9 + x, "y": np.sin(6 * x)})
    table = open_table([frame], "y", max_memory=LITTLE)
    assert table.whole() is None
    assert BNeuralTRegressor(random_state=0).fit(table).score(table) > 0.98


# -- what is refused ----------------------------------------------------------------------


def test_other_methods_and_estimators_name_what_to_do():
    table = table_for(BNeuralTRegressor)
    model = made(BNeuralTRegressor).fit(table)
    with pytest.raises(TypeError, match=r"only fit, predict and score take: pass some of its rows"):
        model.explain(table)
    with pytest.raises(TypeError, match=r"read in blocks"):
        TableTransformer().fit(table)
    with pytest.raises(TypeError, match=r"EvolvedTreeRegressor.fit does not take tables of sev"):
        EvolvedTreeRegressor().fit(table)
    with pytest.raises(TypeError, match=r"partial_fit does not take tables of several blocks"):
        made(BNeuralTRegressor).partial_fit(table, None)
    with pytest.raises(ValueError, match=r"y must be None: the table has the target"):
        made(BNeuralTRegressor).fit(table, SALES["price"])
    with pytest.raises(ValueError, match=r"no target: use open_table"):
        made(BNeuralTRegressor).fit(open_table([SALES], max_memory=LITTLE))
    with pytest.raises(ValueError, match=r"no column 'size'"):
        model.predict(open_table([SALES.drop(columns="size")], max_memory=LITTLE))


@pytest.mark.parametrize("memory", [LITTLE, "1GB"])
def test_a_missing_target_is_named_with_file_column_and_row(tmp_path, memory):
    pattern = write_parts(SALES, tmp_path)
    part = pd.read_parquet(tmp_path / "part1.parquet")
    part.loc[1234, "price"] = np.nan
    part.loc[1234, "kind"] = None
    part.to_parquet(tmp_path / "part1.parquet")
    for kind in (BNeuralTRegressor, BNeuralTClassifier):
        with pytest.raises(TableError, match=r"column '(price|kind)', the target, has no value"):
            made(kind).fit(table_for(kind, pattern, memory))
    with pytest.raises(TableError, match=r"part1.parquet.*in row 1235;"):
        made(BNeuralTRegressor).fit(table_for(BNeuralTRegressor, pattern, memory))


def test_a_category_of_the_last_block_only_is_known_to_the_model():
    last = SALES[2500:].copy()
    last.loc[last.index[-1], "shop"] = "a shop of its own"
    model = made(BNeuralTRegressor).fit(table_for(BNeuralTRegressor, (SALES[:2500], last)))
    assert model.encoder_.features[COLUMNS.index("shop")].rare == ("a shop of its own",)


def test_text_as_target_of_a_regressor_and_infinity_are_named(tmp_path):
    pattern = write_parts(SALES.assign(price="much"), tmp_path)
    with pytest.raises(TableError, match=r"part0.parquet: the target must be numbers"):
        made(BNeuralTRegressor).fit(table_for(BNeuralTRegressor, pattern))
    frame = SALES.copy()
    frame.loc[5000, "size"] = np.inf
    with pytest.raises(TableError, match=r"frame 1: column 'size' has infinity in row 2501"):
        made(BNeuralTRegressor).fit(table_for(BNeuralTRegressor, (frame[:2500], frame[2500:])))
    frame.loc[5000, "size"] = 0.0
    model = made(BNeuralTRegressor).fit(table_for(BNeuralTRegressor))
    frame.loc[5000, "size"] = np.inf
    with pytest.raises(TableError, match=r"frame 0: column 'size' of X has infinity"):
        model.predict(table_for(BNeuralTRegressor, (frame,)))


def test_a_full_disk_is_named_and_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    program = """
import resource, signal, tempfile
import pandas as pd
from bneuralt import BNeuralTRegressor, open_table
from tests.helpers.block_tables import LITTLE, sales
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
table = open_table([sales()], "price", max_memory=LITTLE).without(["kind"])
try:
    BNeuralTRegressor().fit(table)
except OSError as error:
    print(error.errno, error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          check=True)  # fmt: skip
    assert done.stdout.startswith(str(errno.EFBIG)), done.stderr
    assert "bytes of the encoded table: free some space" in done.stdout
    assert os.listdir(tmp_path) == []


# -- memory -------------------------------------------------------------------------------


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system does not say it")
def test_mapped_tables_keep_to_their_memory():
    n_columns, limit = 64, 2**24
    file = mapped.TableFile(n_columns, np.float32, limit)
    block = np.arange(2**14 * n_columns, dtype=np.float32).reshape(-1, n_columns)
    for i in range(64):
        file.append(block + i)
    before, table = mapped._mapped_bytes(), file.table()
    assert table.nbytes == 2**28
    assert table[:, 0].sum() > 0  # reads each page
    deadline = time.monotonic() + 60
    while mapped._mapped_bytes() - before > limit and time.monotonic() < deadline:
        time.sleep(mapped.PERIOD)
    assert mapped._mapped_bytes() - before <= limit
    rows = np.arange(0, len(table), 1000)
    np.testing.assert_array_equal(mapped.copied_rows(table, rows), table[rows])


def test_labels_of_rows_without_weight_are_no_classes():
    table = SALES.assign(used=1.0)
    table.loc[table.index[::50], ["kind", "used"]] = ["other", 0.0]
    blocks = open_table([table], "kind", max_memory=LITTLE)
    assert blocks.whole() is None
    model = BNeuralTClassifier(**FAST).fit(blocks, sample_weight="used")
    assert model.classes_.tolist() == sorted(set(SALES["kind"]))
