"""The store: runs are returned as they were stored, and errors have clear messages."""

import sqlite3
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bneuralt.cli.program import main
from bneuralt_paper.experiments.protocols import Outcome, Scores
from bneuralt_paper.reporting.run_results import COLUMNS
from bneuralt_paper.running.locks import RunLocks
from bneuralt_paper.running.store import Finished, Key, Store, StoreError

KEY = Key("paper", "B-S-ESy-p4-R", "iris", 0)


def finished(key: Key = KEY, test: float = 0.9, **changes) -> Finished:
    values = {
        "seed": 1,
        "scores": Scores(0.8, None, test, 1e-6),
        "fit_seconds": 0.5,
        "size": 10,
        "weights": 20,
        "epochs": 2,
        "curves": {"train_error": [0.5, 0.25]},
        "tree_json": '{"a": 1}',
    }
    return Finished(key, {"kind": "bneuralt"}, "abc", Outcome(**(values | changes)))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.sqlite"


def test_runs_come_back_as_a_frame(path) -> None:
    with Store(path) as store:
        store.add([finished(), finished(KEY._replace(run=1), size=None, tree_json=None)])
    with Store(path, must_exist=True) as store:
        frame = store.to_frame()
    assert tuple(frame.columns) == COLUMNS
    first, second = frame.to_dict("records")
    assert (first["protocol"], first["experiment"], first["dataset"], first["run"]) == KEY
    assert (first["train_score"], first["test_score"], first["size"]) == (0.8, 0.9, 10)
    assert np.isnan(first["val_score"]) and np.isnan(second["size"])
    assert list(first["curves"]["train_error"]) == [0.5, 0.25]
    assert first["tree_json"] == '{"a": 1}' and second["tree_json"] is None


def test_an_empty_store_gives_an_empty_frame() -> None:
    with Store(":memory:") as store:
        assert tuple(store.to_frame().columns) == COLUMNS
        assert len(store) == 0


def test_a_run_is_stored_once_and_stays_as_it_is() -> None:
    with Store(":memory:") as store:
        store.add([finished(test=0.9)])
        store.add([finished(test=0.1)])
        assert len(store) == 1 and store.to_frame()["test_score"].tolist() == [0.9]


def test_several_runs_are_stored_together_or_not_at_all() -> None:
    broken = finished(KEY._replace(run=None))
    with Store(":memory:") as store:
        with pytest.raises(StoreError, match="NOT NULL"):
            store.add([finished(), broken])
        assert len(store) == 0


@settings(max_examples=20)
@given(st.permutations(range(5)))
def test_the_checksum_does_not_depend_on_order_or_time(order) -> None:
    def checksum(runs, seconds, test=0.9):
        with Store(":memory:") as store:
            for run in runs:
                key = KEY._replace(run=run)
                store.add([finished(key, test=test, fit_seconds=seconds)])
            return store.checksum()

    assert checksum(order, 1.0) == checksum(range(5), 2.0)
    assert checksum(order, 1.0) != checksum(range(5), 1.0, test=0.91)
    assert checksum(order[1:], 1.0) != checksum(order, 1.0)


def test_scores_that_are_not_finite_are_missing() -> None:
    with Store(":memory:") as store:
        store.add([finished(test=float("nan"))])
        assert store.to_frame()["test_score"].isna().all()


def test_no_store_is_created_by_mistake(path) -> None:
    with pytest.raises(StoreError, match="no store at"):
        Store(path, must_exist=True)
    assert not path.exists()


def test_another_file_is_left_alone(path) -> None:
    path.write_text("name,value\n" * 100)
    with pytest.raises(StoreError, match="not a store of runs"):
        Store(path)
    assert path.read_text() == "name,value\n" * 100


def test_another_sqlite_file_is_left_alone(path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bills (amount REAL)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="SQLite file, but not a store"):
        Store(path)
    assert path.read_bytes() == before


def test_a_newer_format_is_refused(path) -> None:
    Store(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 7")
    connection.close()
    with pytest.raises(StoreError, match=r"newer bneuralt \(format 7"):
        Store(path)


def test_a_missing_folder_is_named(tmp_path) -> None:
    with pytest.raises(StoreError, match="folder exists"):
        Store(tmp_path / "nowhere" / "runs.sqlite")


def test_a_damaged_file_is_named(path) -> None:
    with Store(path) as store:
        store.add([finished(KEY._replace(run=run)) for run in range(200)])
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(path.read_bytes())
    content[4096 * 2 :] = b"\xff" * (len(content) - 4096 * 2)
    path.write_bytes(content)
    with Store(path) as store, pytest.raises(StoreError, match="damaged"):
        store.to_frame()


DAMAGE = {
    "curves": [b"not compressed", zlib.compress(b"[1, 2"), zlib.compress(b"[1]"), "text"],
    "tree": [b"not compressed", zlib.compress(b"\xff"), "text"],
    "test_score": ["high", b"0.5"],
    "size": ["large"],
}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        pytest.param(column, value, id=f"{column}-{i}")
        for column, values in DAMAGE.items()
        for i, value in enumerate(values)
    ],
)
def test_a_damaged_record_is_named(path, column, value, capsys, tmp_path) -> None:
    with Store(path) as store:
        store.add([finished(KEY._replace(run=run)) for run in range(3)])
        store.execute(f"UPDATE runs SET {column} = ? WHERE run = 1", [value])
        with pytest.raises(StoreError, match=r"run 1 of B-S-ESy-p4-R on iris .*is damaged"):
            store.to_frame()
    assert main(["paper", "report", "--store", str(path), "--out", str(tmp_path / "out")]) == 3
    assert "record of run 1 of B-S-ESy-p4-R on iris" in capsys.readouterr().err


def test_the_checksum_names_a_damaged_record(path) -> None:
    with Store(path) as store:
        store.add([finished(KEY._replace(run=run)) for run in range(3)])
        store.execute("UPDATE runs SET tree = ? WHERE run = 2", [b"not compressed"])
        with pytest.raises(StoreError, match="run 2 of B-S-ESy-p4-R on iris"):
            store.checksum()


def test_a_locked_file_is_a_clear_message(path) -> None:
    Store(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with Store(path, timeout=0.1) as store:
        with pytest.raises(StoreError, match=r"locked by another program for 0\.1 s"):
            store.add([finished()])
        assert store.finished() == set()
        other.execute("ROLLBACK")
        store.add([finished()])
        assert store.finished() == {KEY}
    other.close()


def test_a_full_store_is_a_clear_message_and_keeps_what_it_has(path) -> None:
    with Store(path) as store:
        store.add([finished()])
        pages = store.execute("PRAGMA page_count").fetchone()[0]
        store.execute(f"PRAGMA max_page_count = {pages + 1}")
        rng = np.random.default_rng(0)
        large = {"train_error": rng.random(20_000).tolist()}
        with pytest.raises(StoreError, match="no space left"):
            store.add([finished(KEY._replace(run=1), curves=large)])
        assert store.finished() == {KEY}
        store.execute("PRAGMA max_page_count = 1000000")
        store.add([finished(KEY._replace(run=1), curves=large)])
        assert len(store) == 2


# Locks


def test_a_lock_keeps_others_away_until_it_is_dropped(tmp_path) -> None:
    other_run = KEY._replace(run=1)
    with RunLocks(tmp_path / "runs") as one, RunLocks(tmp_path / "runs") as two:
        assert one.take(KEY) and not two.take(KEY) and two.take(other_run)
        two.drop(KEY)  # not its own
        assert not two.take(KEY)
        one.drop(KEY)
        assert two.take(KEY)
    assert not list(tmp_path.iterdir())


def test_locks_end_with_their_process(tmp_path) -> None:
    code = (
        "import os; from bneuralt_paper.running.locks import RunLocks; "
        "from bneuralt_paper.running.store import Key; "
        f"print(RunLocks({str(tmp_path / 'runs')!r}).take(Key('paper', 'DT', 'iris', 0))); "
        "os._exit(1)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "True\n"
    with RunLocks(tmp_path / "runs") as mine:
        assert mine.take(Key("paper", "DT", "iris", 0))


def test_stores_of_two_machines_become_one(path, tmp_path, capsys) -> None:
    elsewhere = tmp_path / "elsewhere.sqlite"
    with Store(path) as store, Store(elsewhere) as other:
        store.add([finished(test=0.9)])
        other.add([finished(test=0.1), finished(KEY._replace(run=1))])
    assert main(["paper", "merge", str(elsewhere), "--store", str(path)]) == 0
    assert "1 of 2 runs added" in capsys.readouterr().out
    with Store(path) as store:
        assert sorted(store.finished()) == [KEY, KEY._replace(run=1)]
        assert store.to_frame()["test_score"].tolist() == [0.9, 0.9]


def test_runs_with_other_settings_are_not_merged(path, tmp_path, capsys) -> None:
    elsewhere = tmp_path / "elsewhere.sqlite"
    with Store(path) as store, Store(elsewhere) as other:
        store.add([finished()])
        another = finished(KEY._replace(run=1))
        other.add([replace(another, settings={"kind": "bneuralt", "max_epochs": 7})])
    assert main(["paper", "merge", str(elsewhere), "--store", str(path)]) != 0
    assert "other settings or data" in capsys.readouterr().err
    with Store(path) as store:
        assert len(store) == 1


def test_merging_a_file_that_is_not_there_creates_nothing(path, tmp_path, capsys) -> None:
    missing = tmp_path / "missing.sqlite"
    assert main(["paper", "merge", str(missing), "--store", str(path)]) != 0
    assert "there is no store at" in capsys.readouterr().err
    assert not missing.exists()


def test_many_threads_may_create_a_store_at_once(tmp_path) -> None:
    def add_a_run(path, run) -> None:
        with Store(path) as store:
            store.add([finished(KEY._replace(run=run))])

    with ThreadPoolExecutor(8) as pool:
        for i in range(20):
            path = tmp_path / f"{i}.sqlite"
            list(pool.map(add_a_run, [path] * 8, range(8)))
            with Store(path) as store:
                assert len(store) == 8
