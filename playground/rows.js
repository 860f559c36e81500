// Rows to train on: equal rows are merged, splits divide the rows one by one (bneuralt.estimators.rows).
//
// Rows are {index, weight, times, copies}: positions in the table, total weights, how often an epoch
// repeats them, and how many rows each one stands for (null: one).
import { ROWS } from "./recipe.js";

export const nExamples = (rows) => rows.index.length * rows.times;
export const nSeparate = (rows) => (rows.copies ? rows.copies.reduce((a, b) => a + b, 0) : rows.index.length);

/** Merge rows with equal numbers and targets; `positions` are those of the table that are used. */
export function mergedRows(numbers, width, target, positions) {
  const words = new Uint32Array(numbers.buffer, numbers.byteOffset, 2 * numbers.length);
  const of = target.labels ?? target.values, heads = new Map(), groups = [];
  const equal = (a, b) => {
    if (of[a] !== of[b]) return false;
    for (let c = 0; c < width; c++) if (numbers[a * width + c] !== numbers[b * width + c]) return false;
    return true;
  };
  for (const row of positions) {
    let hash = Math.imul(Math.round(of[row] * 1e6) | 0, 0x9e3779b1);
    for (let i = 2 * row * width; i < 2 * (row + 1) * width; i++) hash = Math.imul(hash ^ words[i], 0x85ebca6b) ^ (hash >>> 13);
    const bucket = heads.get(hash);
    const group = bucket?.find((g) => equal(g.row, row));
    if (group) group.count++;
    else {
      const made = { row, count: 1 };
      groups.push(made);
      if (bucket) bucket.push(made);
      else heads.set(hash, [made]);
    }
  }
  const n = groups.length, isMerged = n < positions.length;
  const times = Math.trunc(Math.min(positions.length / n + 0.5, ROWS.MAX_ROWS_TO_COPY / n));
  return {
    index: Int32Array.from(groups, (g) => g.row),
    weight: Float64Array.from(groups, (g) => g.count),
    times: Math.max(1, times),
    copies: isMerged ? Int32Array.from(groups, (g) => g.count) : null,
  };
}

/** Return the number of rows that differ in their numbers; of many rows, some are compared. */
export function nDifferent(numbers, width, rows) {
  const n = rows.index.length, most = Math.min(ROWS.ROWS_TO_COMPARE, Math.floor(ROWS.SUFFICIENT_NUMBERS / Math.max(1, width)));
  const compared = Math.min(n, Math.max(ROWS.MIN_ROWS_OF_SAMPLE, most)), seen = new Set();
  for (let i = 0; i < compared; i++) {
    const row = rows.index[Math.trunc((i * n) / compared)];
    seen.add(numbers.subarray(row * width, (row + 1) * width).join());
  }
  return 2 * seen.size < compared ? seen.size : Math.floor((n * seen.size) / compared);
}

/** Return the rows before merging. */
export function separateRows(rows) {
  if (!rows.copies) return rows;
  const index = [];
  rows.index.forEach((row, i) => {
    for (let c = 0; c < rows.copies[i]; c++) index.push(row);
  });
  const times = Math.max(1, Math.trunc(nExamples(rows) / index.length + 0.5));
  return { index: Int32Array.from(index), weight: new Float64Array(index.length).fill(1), times, copies: null };
}

/** Return separate rows, or a part of them, with equal rows merged. */
export function mergedPart(separate, positions) {
  const counts = new Map();
  for (const i of positions) counts.set(separate.index[i], (counts.get(separate.index[i]) ?? 0) + 1);
  const n = counts.size, isMerged = n < positions.length;
  const times = isMerged ? Math.max(1, Math.trunc(Math.min((positions.length * separate.times) / n + 0.5, ROWS.MAX_ROWS_TO_COPY / n))) : separate.times;
  return {
    index: Int32Array.from(counts.keys()),
    weight: Float64Array.from(counts.values()),
    times,
    copies: isMerged ? Int32Array.from(counts.values()) : null,
  };
}

/** Return the rows of an epoch, with a mean weight of 1. */
export function oneEpoch(rows) {
  const n = rows.index.length, index = new Int32Array(n * rows.times), weight = new Float64Array(n * rows.times);
  const mean = rows.weight.reduce((a, b) => a + b, 0) / n;
  for (let t = 0; t < rows.times; t++) {
    index.set(rows.index, t * n);
    for (let i = 0; i < n; i++) weight[t * n + i] = rows.weight[i] / mean;
  }
  return { index, weight };
}

/** Return the fold of each row, stratified by the class or the range of the target. */
export function foldOfEach(separate, target, nFolds, random) {
  const of = target.labels ?? target.values, chance = Float64Array.from(separate.index, () => random.number());
  const order = Array.from(separate.index.keys());
  order.sort((a, b) => of[separate.index[a]] - of[separate.index[b]] || chance[a] - chance[b]);
  const folds = new Int32Array(order.length);
  order.forEach((i, place) => (folds[i] = place % nFolds));
  return folds;
}

/** Choose rows to train on and rows to hold out, with the same proportions of classes in both. */
export function splitRows(positions, target, fraction, random) {
  const nTest = Math.round(fraction * positions.length);
  if (!nTest || positions.length - nTest < 2) return { train: positions, test: [] };
  if (!target.labels) {
    const mixed = random.shuffled(positions);
    return { train: mixed.slice(nTest).sort((a, b) => a - b), test: mixed.slice(0, nTest).sort((a, b) => a - b) };
  }
  const byClass = new Map();
  for (const row of random.shuffled(positions)) {
    const label = target.labels[row];
    if (!byClass.has(label)) byClass.set(label, []);
    byClass.get(label).push(row);
  }
  const train = [], test = [], classes = random.shuffled(byClass.values());
  let owed = 0;
  for (const rows of classes) {
    owed += rows.length > 1 ? (rows.length * nTest) / positions.length : 0;
    const n = Math.min(Math.round(owed), rows.length - 1);
    owed -= n;
    test.push(...rows.slice(0, n));
    train.push(...rows.slice(n));
  }
  return { train: train.sort((a, b) => a - b), test: test.sort((a, b) => a - b) };
}
