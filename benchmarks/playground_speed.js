// Trains one tree several times in Node; run by benchmarks/playground.py in the folder of the modules.
import fs from "fs";
const { Core } = await import("./core.js");
const job = JSON.parse(fs.readFileSync(0, "utf8"));
const core = await Core.of(await WebAssembly.compile(fs.readFileSync("playground.wasm")));
const n = job.n_inputs, lines = new Float64Array(4 * n);
lines.fill(1, n, 2 * n).fill(-Infinity, 2 * n, 3 * n).fill(Infinity, 3 * n);
const encoder = { lineStart: Int32Array.from({ length: n + 1 }, (_, i) => i), lines };
const table = core.table(Float64Array.from(job.X.flat()), n, encoder, { values: Float64Array.from(job.y) });
const tree = { k: 1, nInputs: n, parent: Int32Array.from(job.parent), activation: Uint8Array.from(job.activation),
  leafParent: Int32Array.from(job.leaf_parent), leafInput: Int32Array.from(job.leaf_input), theta: Float32Array.from(job.theta) };
const index = Int32Array.from(job.y.keys());
const rows = { index, weight: new Float64Array(index.length).fill(1) };
const times = [];
let loss;
for (let i = 0; i < 12; i++) {
  const started = process.cpuUsage();
  const { history } = core.train(tree, table, { rows, settings: Float64Array.from(job.settings),
    loss: Float64Array.from(job.loss), optimizer: Float64Array.from(job.optimizer), seed: 1 });
  const used = process.cpuUsage(started);
  times.push((used.user + used.system) / 1e6);
  loss = history.train_loss.at(-1);
}
console.log(JSON.stringify({ seconds: Math.min(...times.slice(3)), first: times[0], loss }));
