"""Compare the playground with Python: scores of default models, and the speed of training.

    python -m benchmarks.playground scores             made tables
    python -m benchmarks.playground scores FOLDER      the CSV files of a folder, target last
    python -m benchmarks.playground speed

Scores: both train on the same rows with default settings, a tree and a forest. Models of the
playground are trained in Node and loaded in Python, where all are scored on the same held-out rows.
Speed: one training of the same tree in WebAssembly and with the native baseline set, in turns, in
processor time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

import bneuralt
from bneuralt import _core
from bneuralt.tables import FileTable, parse_csv
from bneuralt.tables.table_layout import learn_layout
from bneuralt.training import TrainingSettings, train
from bneuralt.training.settings import SETTINGS
from bneuralt.tree import NeuralTree
from playground.in_node import FOLDER, ask, prepare
from playground.recipe import _number

SEEDS = 4


def made_tables() -> Iterator[tuple[str, str]]:
    """Yield name and text of tables of several kinds, the target in the last column."""
    rng = np.random.default_rng(0)
    for n, kind in ((500, "500 rows"), (1500, "1,500 rows")):
        X = rng.normal(size=(n, 6)).round(4)
        smooth = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
        step = (X[:, 3] > 0.3) * 2.0 + (X[:, 4] > -0.5) + 0.2 * rng.normal(size=n)
        group = rng.choice(["a", "b", "c", "d"], n)
        mixed = np.where(group == "a", X[:, 0], -X[:, 1]) + 0.3 * rng.normal(size=n)
        noisy = X[:, 0] + 2 * rng.normal(size=n)
        gaps = np.where(rng.random((n, 6)) < 0.1, "", X.astype(str))
        classes = np.array(["low", "middle", "high"])
        yield f"{kind}, smooth", _csv([*X.T, smooth.round(4)])
        yield f"{kind}, steps", _csv([*X.T, step.round(4)])
        yield f"{kind}, text", _csv([*X.T, group, mixed.round(4)])
        yield f"{kind}, noise", _csv([*X.T, noisy.round(4)])
        yield f"{kind}, classes", _csv([*X.T, classes[np.digitize(smooth, [-0.5, 0.7])]])
        yield f"{kind}, gaps", _csv([*gaps.T, np.where(step > 1.5, "yes", "no")])


def _csv(columns: list[Any]) -> str:
    names = ",".join(f"x{i}" for i in range(len(columns) - 1)) + ",y"
    return "\n".join([names, *(",".join(map(str, row)) for row in zip(*columns, strict=True))])


def compare_scores(tables: Iterator[tuple[str, str]]) -> None:
    """Print the scores of both, and the mean difference."""
    prepare()
    differences: dict[str, list[float]] = {"tree": [], "forest": []}
    print("| table | tree, Python | playground | forest, Python | playground |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, text in tables:
        row = []
        for kind in differences:
            pairs = np.array([_scores(text, kind == "forest", seed) for seed in range(SEEDS)])
            differences[kind] += (pairs[:, 1] - pairs[:, 0]).tolist()
            row += [f"{score:.3f}" for score in pairs.mean(axis=0)]
        print(f"| {name} | {' | '.join(row)} |", flush=True)
    for kind, each in differences.items():
        error = np.std(each) / np.sqrt(len(each))
        print(f"{kind}: playground less Python {np.mean(each):+.4f} ± {error:.4f}")


def _scores(text: str, is_forest: bool, seed: int) -> tuple[float, float]:
    """Return the scores of Python and of the playground on the same held-out rows."""
    table = parse_csv(text.encode())
    target = [name for j, name in enumerate(table.names) if any(table.raw(j))][-1]
    layout = learn_layout(table, target)
    y = layout.labels(table)
    assert y is not None
    is_class = layout.task == "classification"
    fitted, test = train_test_split(
        np.arange(len(y)), test_size=0.25, random_state=seed, stratify=y if is_class else None
    )
    part = _part(table, np.sort(fitted))
    X = layout.frame(table)
    name = f"BNeural{'Forest' if is_forest else 'T'}{'Classifier' if is_class else 'Regressor'}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = getattr(bneuralt, name)(random_state=seed).fit(
            X.take(np.sort(fitted)), y[np.sort(fitted)]
        )
        answer = ask(part, target, ["model"], isForest=is_forest, seed=seed)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            path.write_text(json.dumps(answer["file"]))
            theirs = bneuralt.load_model(path)
        held_out = X.take(test)
        kept = [layout.column_names.index(name) for name in theirs.feature_names_in_]
        same = (
            held_out
            if kept == list(range(len(X.columns)))
            else held_out.select(theirs.feature_names_in_)
        )
        return ours.score(held_out, y[test]), theirs.score(same, y[test])


def _part(table: FileTable, rows: Any) -> str:
    columns = [table.raw(j) for j in range(len(table.names))]
    quoted = [[f'"{cell}"' if "," in cell else cell for cell in column] for column in columns]
    lines = [",".join(f'"{name}"' for name in table.names)]
    return "\n".join(lines + [",".join(column[i] for column in quoted) for i in rows.tolist()])


#: Trains the tree of a job in WebAssembly, in Node and in browsers.
SPEED = Path(__file__).with_name("playground_speed.js")
IN_NODE = """
import fs from "fs";
import { trainerOf } from "./trainer.js";
const job = JSON.parse(fs.readFileSync(0, "utf8"));
const train = await trainerOf(fs.readFileSync("playground.wasm"), job);
const times = [];
for (let i = 0; i < 12; i++) {
  const started = process.cpuUsage();
  train();
  const used = process.cpuUsage(started);
  times.push((used.user + used.system) / 1e6);
}
console.log(JSON.stringify({ seconds: Math.min(...times.slice(3)), first: times[0] }));
"""


class Training:
    """One training of a tree of 650 weights on 1,000 rows of 20 columns."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(1000, 20))
        self.y = np.sin(self.X[:, 0]) + self.X[:, 1] * self.X[:, 2]
        self.tree = NeuralTree.random(
            20, n_weights=650, activation="tanh", output_activation="linear", dtype=np.float32,
            deepen=True, random_state=0,
        )  # fmt: skip
        self.settings = TrainingSettings(loss="squared_error", batch_size=32, max_epochs=50)

    @property
    def job(self) -> dict[str, Any]:
        """The same as JSON."""
        tree, values = self.tree, self.settings.complete.get_params()
        return {
            "n_inputs": 20, "X": self.X.tolist(), "y": self.y.tolist(),
            "parent": tree.parent.tolist(), "activation": tree.activation.tolist(),
            "leaf_parent": tree.leaf_parent.tolist(), "leaf_input": tree.leaf_input.tolist(),
            "theta": tree.parameters.tolist(),
            "settings": [float(_number(name, values[name])) for name in SETTINGS],
            "loss": list(values["loss"].numbers), "optimizer": list(values["optimizer"].numbers),
        }  # fmt: skip

    def native_seconds(self, engine: str) -> float:
        """Return the least processor time of nine trainings with a set of instructions."""
        _core.use_engine(engine)
        seconds = []
        for _ in range(9):
            started = time.process_time()
            train(self.tree, self.X, self.y, settings=self.settings.complete, seed=1)
            seconds.append(time.process_time() - started)
        return min(seconds)


def compare_speed() -> None:
    """Print the time of the same training in WebAssembly and native code."""
    prepare()
    (FOLDER / "trainer.js").write_text(SPEED.read_text())
    (FOLDER / "speed.js").write_text(IN_NODE)
    training, ratios = Training(), []
    for _ in range(5):
        done = subprocess.run(["node", "speed.js"], input=json.dumps(training.job), cwd=FOLDER,
                              capture_output=True, text=True, check=True)  # fmt: skip
        wasm = json.loads(done.stdout)
        native = {e: training.native_seconds(e) for e in ("baseline", _core.engines()[0])}
        ratios.append(wasm["seconds"] / native["baseline"])
        times = {"WebAssembly": wasm["seconds"], "its first run": wasm["first"], **native}
        print(", ".join(f"{name} {1e3 * seconds:.1f} ms" for name, seconds in times.items()))
    print(f"median ratio to the native baseline: {np.median(ratios):.2f}")


def main() -> None:
    """Run one of the comparisons."""
    if sys.argv[1:2] == ["speed"]:
        compare_speed()
    elif sys.argv[2:]:
        files = sorted(Path(sys.argv[2]).glob("*.csv"))
        compare_scores((path.stem, path.read_text(encoding="utf-8")) for path in files)
    else:
        compare_scores(made_tables())


if __name__ == "__main__":
    main()
