// Which columns change the outputs together, beyond the sum of what each does alone.
import { readersOf } from "./effects.js";
import { meanOf } from "./prediction.js";

const MOST_COLUMNS = 12, SHIFTS = [1, 3, 5]; // a row gets the values of rows this many places on

/** Return the columns that contribute most, at most twelve, as positions. */
export function strongestColumns(model, trees, strengths) {
  const total = model.columns.map(() => 0);
  trees.forEach((tree, t) => {
    for (let i = tree.nNodes; i < tree.size; i++) total[model.columnOf[tree.inputOf(i)]] += strengths[t][i];
  });
  const order = total.map((_, j) => j).filter((j) => total[j] > 0).sort((a, b) => total[b] - total[a]);
  return order.slice(0, MOST_COLUMNS);
}

/** Return the pairs of columns that meet below a node whose activation is not linear: others cannot interact. */
export function possiblePairs(model, trees, columns) {
  const bit = new Map(columns.map((j, i) => [j, 1 << i])), pairs = new Set();
  for (const tree of trees) {
    const mask = new Int32Array(tree.nNodes);
    for (let i = tree.nNodes; i < tree.size; i++) {
      if (tree.weight[i]) mask[tree.parentOf(i)] |= bit.get(model.columnOf[tree.inputOf(i)]) ?? 0;
    }
    const masks = new Set();
    for (let i = tree.nNodes - 1; i >= 0; i--) {
      if (tree.activation[i] !== "linear") masks.add(mask[i]);
      if (i >= tree.nOutputs && tree.weight[i]) mask[tree.parent[i]] |= mask[i];
    }
    for (const mask of masks) {
      columns.forEach((a, i) => columns.forEach((b, k) => i < k && mask & (1 << i) && mask & (1 << k) && pairs.add(i * 64 + k)));
    }
  }
  return [...pairs].map((key) => [columns[Math.floor(key / 64)], columns[key % 64]]);
}

/**
 * Return pairs of columns with the strength of their interaction, the strongest first; pauses often.
 *
 * It is the mean, over typical rows r and s and the outputs before the link, of the absolute value of
 * f(r) - f(r with a of s) - f(r with b of s) + f(r with both of s).
 */
export function* interactionsOf(model, trees, pairs) {
  const rows = model.reference, found = [];
  const runs = rows.map((row) => trees.map((tree) => tree.forward(row)));
  const base = runs.map((ofRow) => meanOf(ofRow.map(({ value }, t) => Array.from(value.subarray(0, trees[t].nOutputs)))));
  const readers = new Map();
  const swapped = (r, s, columns) => {
    const inputs = Float64Array.from(rows[r]), key = columns.join();
    for (const j of columns) for (const at of model.columns[j].inputs) inputs[at] = rows[s][at];
    if (!readers.has(key)) readers.set(key, readersOf(model, trees, columns));
    return meanOf(trees.map((tree, t) => tree.outputsWith(runs[r][t], readers.get(key)[t], inputs)));
  };
  for (const [a, b] of pairs) {
    let total = 0, n = 0;
    for (let r = 0; r < rows.length; r++) {
      for (const shift of SHIFTS) {
        const s = (r + shift) % rows.length;
        const [one, other, both] = [[a], [b], [a, b]].map((columns) => swapped(r, s, columns));
        base[r].forEach((f, k) => (total += Math.abs(f - one[k] - other[k] + both[k])));
        n += base[r].length;
      }
      yield;
    }
    found.push({ a, b, strength: total / n });
    readers.delete(`${a},${b}`);
  }
  return found.sort((x, y) => y.strength - x.strength);
}
