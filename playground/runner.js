// Answers one question about a table, in Node: what the playground would make of it.
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
        return { ...fit.finalPlan(), n_rows: fit.rows.index.length, times: fit.rows.times };
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
