"""Execution of experiments: the same stored runs after any interruption."""

import os
import random
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from io import StringIO

import pytest

from bneuralt.cli.program import main
from bneuralt_paper.datasets import load_dataset
from bneuralt_paper.running.locks import RunLocks
from bneuralt_paper.running.planning import QUICK, plan_tasks, select_datasets
from bneuralt_paper.running.progress import Progress
from bneuralt_paper.running.runner import run_experiments
from bneuralt_paper.running.store import Key, Store, StoreError
from bneuralt_paper.running.workers import WorkerError

# Fast experiments of all kinds except MLPs, which take seconds to compile.
SELECTION = {
    "protocols": "paper,honest",
    "experiments": "B-S-ESy-p4-R,B-S-ESn-G,DT,NBC,SVM,LIN",
    "datasets": "iris",
    "runs": 8,
}
REQUESTED = 2 * 6 * 8


def command(store, *options: str) -> list[str]:
    return [
        *(sys.executable, "-m", "bneuralt", "paper", "run"),
        *("--experiments", SELECTION["experiments"], "--datasets", SELECTION["datasets"]),
        *("--runs", str(SELECTION["runs"]), "--store", str(store), *options),
    ]


@pytest.fixture(scope="module")
def undisturbed() -> str:
    """Return the checksum of a store that one process filled without interruption."""
    with Store(":memory:") as store:
        summary = run_experiments(**SELECTION, store=store, backend="sequential", quiet=True)
        assert (summary.requested, summary.present, summary.computed) == (REQUESTED, 0, REQUESTED)
        assert summary.failures == {}
        return store.checksum()


def contents(path) -> tuple[int, str]:
    with Store(path, must_exist=True) as store:
        return len(store), store.checksum()


def count(path) -> int:
    """Return the number of finished runs while another process is writing."""
    try:
        with closing(sqlite3.connect(path, timeout=5)) as connection:
            return connection.execute("SELECT count(*) FROM runs").fetchone()[0]
    except sqlite3.Error:
        return 0  # not created yet


def test_ten_kills_at_random_moments_lose_and_repeat_nothing(tmp_path, undisturbed) -> None:
    path = tmp_path / "runs.sqlite"
    rng = random.Random(20240)
    kills, seen = 0, 0
    while kills < 10:
        options = ("--jobs", "2") if kills % 3 == 2 else ("--backend", "sequential")
        process = subprocess.Popen(command(path, *options), stderr=subprocess.DEVNULL)
        # Some kills come during start-up, before the first new run; most of them during runs.
        until = count(path) + rng.choice([0, 1, 3])
        while count(path) < min(until, REQUESTED - 1) and process.poll() is None:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.3))
        assert process.poll() is None, "it was done before it could be killed"
        process.kill()
        process.wait()
        kills += 1
        now = count(path)
        assert now >= seen
        seen = now
        if seen > REQUESTED - 12:
            # Few runs are left to be interrupted: delete some of the finished ones.
            with Store(path) as store:
                store.execute("DELETE FROM runs WHERE rowid > 30")
            seen = 30
    done = subprocess.run(command(path, "--jobs", "2"), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert f"{REQUESTED} runs requested, {seen} already stored" in done.stdout
    assert contents(path) == (REQUESTED, undisturbed)


def test_two_processes_share_a_store_and_the_work(tmp_path, undisturbed) -> None:
    path = tmp_path / "runs.sqlite"
    pair = [
        subprocess.Popen(
            command(path, "--backend", "sequential"), stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=300)[0] for process in pair]
    assert [process.returncode for process in pair] == [0, 0]
    computed = [int(re.search(r"(\d+) computed", output)[1]) for output in outputs]
    assert sum(computed) == REQUESTED, outputs
    assert contents(path) == (REQUESTED, undisturbed)


def test_runs_of_another_process_are_awaited(tmp_path) -> None:
    key = Key("honest", "DT", "iris", 0)
    with Store(tmp_path / "runs.sqlite") as store, RunLocks(store.path) as other:
        assert other.take(key)
        summaries = []
        thread = threading.Thread(
            target=lambda: summaries.append(
                run_experiments(
                    "honest", "DT", "iris", 2, store=store, backend="sequential", quiet=True
                )
            )
        )
        thread.start()
        while len(store) < 1:
            time.sleep(0.01)
        time.sleep(0.1)
        assert thread.is_alive() and len(store) == 1
        other.drop(key)  # as if its process had ended
        thread.join(timeout=60)
        assert summaries[0].computed == 2 and len(store) == 2


def test_a_dask_cluster_that_loses_a_worker(tmp_path, undisturbed) -> None:
    distributed = pytest.importorskip("distributed", reason="needs Dask")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Store(tmp_path / "runs.sqlite") as store,
    ):
        pids = [worker.process.pid for worker in cluster.workers.values()]
        killed = threading.Event()

        def kill_one() -> None:
            while len(store) < REQUESTED // 4:
                time.sleep(0.01)
            os.kill(pids[0], signal.SIGKILL)
            killed.set()

        thread = threading.Thread(target=kill_one)
        thread.start()
        address = cluster.scheduler_address.removeprefix("tcp://")
        summary = run_experiments(**SELECTION, store=store, backend=f"dask://{address}", quiet=True)
        thread.join()
        assert killed.is_set()
        assert (summary.computed, summary.failures) == (REQUESTED, {})
        assert (len(store), store.checksum()) == (REQUESTED, undisturbed)


def test_no_dask_scheduler_is_a_clear_message() -> None:
    pytest.importorskip("distributed", reason="needs Dask")
    with Store(":memory:") as store, pytest.raises(WorkerError, match="no Dask scheduler"):
        run_experiments(
            "honest", "DT", "iris", 1, store=store, backend="dask://127.0.0.1:1", quiet=True
        )


def test_a_full_disk_is_a_clear_message_and_the_run_can_be_continued(tmp_path, undisturbed) -> None:
    path = tmp_path / "runs.sqlite"

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, 120_000))

    options = ("--backend", "sequential", "--quiet")
    full = subprocess.run(
        command(path, *options), preexec_fn=small_files, capture_output=True, text=True, timeout=300
    )
    assert full.returncode == 5
    assert re.fullmatch(r"bneuralt: .*runs\.sqlite .*full disk.*\n", full.stderr), full.stderr
    assert 0 < count(path) < REQUESTED
    assert subprocess.run(command(path, *options), timeout=300).returncode == 0
    assert contents(path) == (REQUESTED, undisturbed)


def test_a_locked_store_is_a_clear_message(tmp_path) -> None:
    path = tmp_path / "runs.sqlite"
    Store(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with Store(path, timeout=0.1) as store, pytest.raises(StoreError, match="locked"):
            run_experiments(
                "honest", "DT", "iris", 1, store=store, backend="sequential", quiet=True
            )


def test_ctrl_c_keeps_what_is_finished(tmp_path) -> None:
    path = tmp_path / "runs.sqlite"
    process = subprocess.Popen(
        command(path, "--jobs", "2"), stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while count(path) < 2 and process.poll() is None:
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "finished runs are stored" in errors and "Traceback" not in errors
    with Store(path) as store:
        assert len(store) >= 2
        assert not list(tmp_path.glob("*.locks"))


def test_a_failing_run_does_not_stop_the_others(tmp_path) -> None:
    iris = load_dataset("iris")
    lines = [",".join(map(str, row)) for row in iris.X]
    lines[7] = lines[7].replace("5.0", "nan", 1)
    names = [iris.class_names[label] for label in iris.y]
    rows = [f"{line},{name}" for line, name in zip(lines, names, strict=True)]
    (tmp_path / "iris.csv").write_text("\n".join(["a,b,c,d,target", *rows]))
    with Store(":memory:") as store:
        summary = run_experiments(
            "honest", "LIN,DT", "iris", 2, store=store, backend="sequential", quiet=True,
            data_home=str(tmp_path),
        )  # fmt: skip
        # Decision trees accept missing values, logistic regression does not.
        assert set(summary.failures) == {Key("honest", "LIN", "iris", run) for run in (0, 1)}
        assert "NaN" in summary.failures[Key("honest", "LIN", "iris", 1)]
        assert store.finished() == {Key("honest", "DT", "iris", run) for run in (0, 1)}


def test_naive_bayes_is_skipped_for_regression() -> None:
    with Store(":memory:") as store:
        summary = run_experiments("honest", "NBC,LIN", "iris,diabetese", 1, store=store, quiet=True)
        assert summary.computed == summary.requested == 3


def test_more_runs_later_add_to_those_that_are_there() -> None:
    with Store(":memory:") as store:
        run_experiments("honest", "DT", "iris", 2, store=store, quiet=True)
        summary = run_experiments("honest", "DT", "iris", 3, store=store, quiet=True)
        assert (summary.requested, summary.present, summary.computed) == (3, 2, 1)


def test_other_data_under_the_same_name_are_refused() -> None:
    with Store(":memory:") as store:
        run_experiments("honest", "DT", "diabetese", 1, store=store, quiet=True)
        store.execute("UPDATE runs SET data_checksum = 'other'")
        with pytest.raises(StoreError, match="different version of diabetese"):
            run_experiments("honest", "DT", "diabetese", 2, store=store, quiet=True)


def test_settings_are_stored() -> None:
    with Store(":memory:") as store:
        run_experiments("paper", "B-S-ESy-p4-D", "iris", 1, store=store, quiet=True)
        (settings,) = store.execute("SELECT settings FROM runs").fetchone()
    assert '"selection": "on the test rows, where it is also scored"' in settings
    assert '"leaf_probability": 0.4' in settings and '"learning_rate": 0.1' in settings


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fair", "DT", "iris", 1), "'fair'"),
        (("paper", "XYZ", "iris", 1), "'XYZ'"),
        (("paper", "DT", "mnist", 1), "'mnist'"),
        (("paper", "DT", "", 1), "none selected"),
        (("paper", "DT", "iris", 0), "runs=0"),
    ],
)
def test_wrong_arguments_are_named(arguments, message: str) -> None:
    with Store(":memory:") as store, pytest.raises(ValueError, match=message):
        run_experiments(*arguments, store=store)
    with Store(":memory:") as store, pytest.raises(ValueError, match="'slurm'"):
        run_experiments("paper", "DT", "iris", 1, store=store, backend="slurm", quiet=True)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["report", "--store", "missing.sqlite"], 3, "no store at missing.sqlite"),
        (["run", "--experiments", "XYZ", "--store", "x.sqlite"], 2, "experiment 'XYZ'"),
        (["run", "--store", "nowhere/x.sqlite"], 5, "folder exists"),
    ],
)
def test_error_messages_are_one_line(
    arguments, code, message, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["paper", *arguments]) == code
    errors = capsys.readouterr().err
    assert message in errors and errors.count("\n") == 1


def test_evolved_trees_are_run_with_a_small_budget() -> None:
    pytest.importorskip("pymoo")
    with Store(":memory:") as store:
        run_experiments(
            "paper,honest", "evolved-quick", "iris,diabetese", 1, store=store, quiet=True
        )
        pairs = {(key.experiment, key.dataset) for key in store.finished()}
        sizes = [size for (size,) in store.execute("SELECT size FROM runs")]
    # MONT has no regression in the paper
    assert ("MONT3-q", "iris") in pairs and ("MONT3-q", "diabetese") not in pairs
    assert {("HFNT-S-q", "diabetese"), ("HFNT-M-q", "iris")} <= pairs
    assert all(2 <= size <= 200 for size in sizes)


def test_the_quick_selection_needs_embedded_data_only(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("BNEURALT_DATA", str(tmp_path))
    tasks = plan_tasks(**QUICK)
    assert select_datasets("embedded") == list(QUICK["datasets"])
    assert {task.protocol for task in tasks} == {"paper", "honest"}


def test_progress_counts_and_estimates() -> None:
    out = StringIO()
    progress = Progress(10, 4, cost=6.0, stream=out)
    progress.advance(3, 3.0)
    assert re.fullmatch(r"[\d.]+ runs/s, about \d+ s left", progress._status())
    progress.note("something happened")
    progress.note("something happened")
    progress.advance(3, 3.0)
    progress.close()
    lines = out.getvalue().splitlines()
    assert lines[0] == "4 of 10 runs are in the store"
    assert lines[1] == "something happened" and lines[2].startswith("10/10 runs")
    assert len(lines) == 3
