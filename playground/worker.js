// The worker: reads tables and trains, so that the page never waits.
import { Core } from "./core.js";
import { decode, parseCsv, TableError } from "./csv.js";
import { learnColumns, learnTarget, shownKind } from "./layout.js";
import { trainModel } from "./session.js";

const PERIOD = 40; // milliseconds between pictures of a tree that is trained
class Outdated extends Error {}

let core = null, table = null, learnt = null, latest = 0, lastPause = 0;

/** Let messages in now and then; a newer wish ends the training. */
async function pause(id) {
  if (performance.now() - lastPause > PERIOD) {
    await new Promise((done) => setTimeout(done));
    lastPause = performance.now();
  }
  if (id !== latest) throw new Outdated();
}

function read({ source, hasHeader }) {
  table = parseCsv(typeof source === "string" ? source : decode(source), hasHeader ?? null);
  learnt = learnColumns(table);
  const { decimal, columns } = learnt;
  const shown = columns.map((column) => {
    const { codes, texts } = table.columns[column.position];
    let task = null;
    try {
      task = learnTarget(table, column.position, decimal).task;
    } catch {
      // it cannot be the target
    }
    return { ...column, notation: null, task, shown: shownKind(column, column.usual), cells: Array.from(codes.subarray(0, 4), (code) => texts[code]) };
  });
  return { names: table.names, hasHeader: table.hasHeader, nRows: table.nRows, decimal, columns: shown };
}

/** Return the columns with the kinds that the user has chosen. */
function chosenColumns(kinds) {
  return learnt.columns.map((column) => {
    const kind = kinds[column.position];
    return kind === undefined ? column : { ...column, kind, isChosen: true, isDropped: kind === "unused" };
  });
}

async function train({ id, wishes: chosen, stopped }) {
  const wishes = { ...chosen, decimal: learnt.decimal, columns: chosenColumns(chosen.kinds ?? {}) };
  let last = 0;
  const started = performance.now(), { names } = table;
  const report = {
    pause: () => pause(id),
    begin: ({ encoder, k, isClassifier, classes }) => {
      const kinds = encoder.features.flatMap(({ kind, drawn }) => drawn.map((isDrawn) => (kind === "number" && !isDrawn ? "ramp" : kind)));
      postMessage({ id, type: "begin", k, isClassifier, outputs: classes ?? [names[wishes.target]], kinds, groups: encoder.groups, names: encoder.names, target: names[wishes.target], lines: encoder.lines, lineStart: encoder.lineStart });
    },
    epoch: ({ start, t, nTrees, part, nParts, plan, scaling, target, choice, epoch, loss, now }) => {
      const isNoted = epoch === 0 || epoch === plan.max_epochs || performance.now() - last > PERIOD || (t === 0 && epoch % Math.ceil(plan.max_epochs / 60) === 0);
      if (!isNoted) return false;
      last = performance.now();
      postMessage({ id, type: "epoch", t, nTrees, part, nParts, epoch, nEpochs: plan.max_epochs, loss, tree: epoch ? now() : start, context: epoch ? null : { plan, scaling, target, choice } });
      return false;
    },
  };
  const { predicted: _, ...result } = await trainModel(await core, table, wishes, report, stopped);
  return { ...result, seconds: (performance.now() - started) / 1000 };
}

self.onmessage = async ({ data }) => {
  const { id, type } = data;
  latest = id;
  lastPause = performance.now();
  try {
    if (type === "core") core = Core.of(data.module); // messages may come in before it is ready
    else if (type === "read") postMessage({ id, type: "table", ...read(data) });
    else if (type === "train") postMessage({ id, type: "model", ...(await train(data)) });
  } catch (error) {
    if (error instanceof Outdated) return;
    postMessage({ id, type: "error", isPlain: error instanceof TableError, message: error.message });
  }
};
