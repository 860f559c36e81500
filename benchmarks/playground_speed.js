// Trains one tree several times in WebAssembly; run by benchmarks/playground.py in Node and Chromium.
import { Core } from "./core.js";

/** Return a function that trains the tree of a job once, and returns the last loss. */
export async function trainerOf(wasm, job) {
  const core = await Core.of(await WebAssembly.compile(wasm));
  const n = job.n_inputs, lines = new Float64Array(4 * n);
  lines.fill(1, n, 2 * n).fill(-Infinity, 2 * n, 3 * n).fill(Infinity, 3 * n);
  const encoder = { lineStart: Int32Array.from({ length: n + 1 }, (_, i) => i), lines };
  const table = core.table(Float64Array.from(job.X.flat()), n, encoder, { values: Float64Array.from(job.y) });
  const tree = { k: 1, nInputs: n, parent: Int32Array.from(job.parent), activation: Uint8Array.from(job.activation),
    leafParent: Int32Array.from(job.leaf_parent), leafInput: Int32Array.from(job.leaf_input), theta: Float32Array.from(job.theta) };
  const index = Int32Array.from(job.y.keys());
  const rows = { index, weight: new Float64Array(index.length).fill(1) };
  const options = { rows, settings: Float64Array.from(job.settings), loss: Float64Array.from(job.loss), optimizer: Float64Array.from(job.optimizer), seed: 1 };
  return () => core.train(tree, table, options).history.train_loss.at(-1);
}
