"""Helpers of the tests of the playground: its modules in Node, and the same decisions in Python."""

import importlib.util
import json
import shutil
import subprocess
import warnings

import numpy as np
import pytest

from bneuralt import BNeuralForestClassifier, BNeuralForestRegressor
from bneuralt import BNeuralTClassifier, BNeuralTRegressor, load_model
from bneuralt.tables.csv_files import parse_csv
from bneuralt.tables.layout_learning import learn_layout
from tests.helpers.paths import ROOT

FOLDER = ROOT / "build/playground"
CORE = FOLDER / "playground.wasm"

RUNNER = """
import fs from "fs";
const { parseCsv, decode } = await import("./csv.js");
const { learnColumns, shownKind } = await import("./layout.js");
const session = await import("./session.js");
const { Fit } = await import("./fit.js");
const { Core } = await import("./core.js");
const { text, bytes, wishes, wants } = JSON.parse(fs.readFileSync(0, "utf8"));
const core = await Core.of(await WebAssembly.compile(fs.readFileSync("playground.wasm")));
const answer = {};
try {
  const table = parseCsv(bytes ? decode(Uint8Array.from(bytes).buffer) : text);
  const { decimal, columns } = learnColumns(table);
  const target = table.names.indexOf(wishes.targetName);
  const all = { columns, decimal, ...wishes, target };
  for (const column of columns) Object.assign(column, wishes.kinds?.[column.name]);
  Object.assign(answer, { names: table.names, kinds: columns.map((c) => c.kind), notes: columns.map((c) => c.why ?? c.note) });
  if (wants.includes("inputs") || wants.includes("plan")) {
    const prepared = session.prepare(table, all), { encoder, numbers } = session.encode(prepared);
    answer.task = prepared.learnt.task;
    answer.classes = prepared.target.classes ?? null;
    answer.encoder = encoder.features.map((f) => f.toPlain());
    answer.ranges = encoder.features.map((f) => f.range);
    const inputs = encoder.inputs(numbers), n = encoder.nInputs;
    if (wants.includes("inputs")) answer.inputs = prepared.train.map((r) => Array.from(inputs.subarray(r * n, (r + 1) * n)));
    if (wants.includes("plan")) {
      const plans = [false, true].map((isForest) => {
        const fit = new Fit(core, encoder, numbers, prepared.target, prepared.train, { isForest, seed: 0, signs: [], nWeights: null });
        return { ...fit.plan(fit.rows), n_rows: fit.rows.index.length, times: fit.rows.times };
      });
      answer.plans = plans;
    }
  }
  if (wants.includes("model")) {
    const started = process.cpuUsage();
    const { file, page, scores, nTest, plan, predicted } = await session.trainModel(core, table, all, {});
    const used = process.cpuUsage(started);
    Object.assign(answer, { file, page, scores, nTest, plan, predicted: Array.from(predicted), seconds: (used.user + used.system) / 1e6 });
  }
} catch (error) {
  if (error.constructor.name !== "TableError") throw error;
  answer.error = error.message;
}
console.log(JSON.stringify(answer));
"""


def built():
    """Build the modules once; skip the test where a tool is absent."""
    if shutil.which("node") is None:
        pytest.skip("needs Node (Debian: nodejs)")
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("needs PyPI's ziglang, a compiler for WebAssembly (the extra 'cross')")
    from playground.build import compile_core, write_modules

    write_modules(FOLDER)
    compile_core(CORE)
    (FOLDER / "runner.js").write_text(RUNNER)


def in_node(table, target, wants=("inputs", "plan"), **wishes):
    """Return what the playground makes of the text or the bytes of a table."""
    content = {"bytes": list(table)} if isinstance(table, bytes) else {"text": table}
    question = {**content, "wishes": {"targetName": target, "testFraction": 0, **wishes},
                "wants": list(wants)}  # fmt: skip
    done = subprocess.run(
        ["node", "runner.js"], input=json.dumps(question), cwd=FOLDER, capture_output=True,
        text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def trained(table, target, folder, **wishes):
    """Return the answer of a training, with the model as Python loads it."""
    answer = in_node(table, target, ["model"], **wishes)
    assert "error" not in answer, answer
    path = folder / "model.json"
    path.write_text(json.dumps(answer["file"]))
    return answer, load_model(path)


def frame_of(table, target, **options):
    """Return the columns and the target of a table, as the program reads them."""
    cells = parse_csv(table.encode())
    layout = learn_layout(cells, target, **options)
    return layout.frame(cells), layout.labels(cells)


def in_python(table, target, **options):
    """Return what Python makes of the same table, in the same form."""
    data = table if isinstance(table, bytes) else table.encode()
    cells = parse_csv(data)
    layout = learn_layout(cells, target, **options)
    y = layout.labels(cells)
    known = np.array([label is not None and label == label for label in y.tolist()])
    X, y = layout.frame(cells).take(np.flatnonzero(known)), np.array(y[known].tolist())
    is_classifier = layout.task == "classification"
    tree = (BNeuralTClassifier if is_classifier else BNeuralTRegressor)(random_state=0)
    forest = (BNeuralForestClassifier if is_classifier else BNeuralForestRegressor)(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = tree._read_rows(X, y, None, reset=True)
        forest._read_rows(X, y, None, reset=True)
    member = forest._new_member(0)
    forest._prepare(member, rows)
    plans = []
    for estimator in (tree, member):
        settings = estimator._settings(rows)
        names = ("learning_rate", "weight_decay", "batch_size", "max_epochs")
        plans.append({"n_weights": estimator._n_weights(rows), **{name: getattr(settings, name) for name in names},
                      "n_rows": len(rows), "times": rows.times})  # fmt: skip
    used = {column.position: column.kind for column in layout.columns}
    kinds = [used.get(j, "unused") for j in range(len(cells.names))]
    return {
        "kinds": kinds, "target": layout.target_position, "task": layout.task,
        "classes": tree.classes_.tolist() if is_classifier else None,
        "encoder": tree.encoder_.to_plain(), "ranges": tree.encoder_.ranges,
        "inputs": tree.encoder_.encode(X), "plans": plans,
    }  # fmt: skip
