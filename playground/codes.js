// Whole numbers that are codes, whose order means nothing: what bneuralt.tables.codes does.
import { CODES } from "./recipe.js";

const sum = (values) => values.reduce((a, b) => a + b, 0);

/**
 * Return whether a column of numbers has codes; see `code_evidence` in Python.
 *
 * `rows` are the training rows; `target` has their labels and nClasses, or their values.
 */
export function isCode(values, rows, target) {
  for (const row of rows) if (!Number.isNaN(values[row]) && !Number.isInteger(values[row])) return false;
  const used = [...rows.keys()].filter((i) => !Number.isNaN(values[rows[i]]));
  if (used.length < CODES.MIN_VALUES * CODES.MIN_ROWS_PER_VALUE) return false;
  const distinct = Float64Array.from(new Set(used.map((i) => values[rows[i]]))).sort();
  const m = distinct.length;
  if (m < CODES.MIN_VALUES || m > used.length / CODES.MIN_ROWS_PER_VALUE) return false;
  const at = new Map(Array.from(distinct, (x, i) => [x, i]));
  const place = used.map((i) => at.get(values[rows[i]])), n = new Float64Array(m);
  for (const v of place) n[v]++;
  const squares = new Float64Array(m);
  const sums = numbersOf(target, used).map((numbers) => {
    const mean = sum(numbers) / numbers.length, ofValue = new Float64Array(m);
    numbers.forEach((y, i) => {
      ofValue[place[i]] += y - mean;
      squares[place[i]] += (y - mean) ** 2;
    });
    return ofValue;
  });
  const total = sum(squares);
  if (!(total > 0)) return false;
  const own = n.map((count, v) => {
    if (count < 2) return 0;
    const square = sum(sums.map((s) => s[v] ** 2));
    return (2 * (square - squares[v])) / (count - 1) - ((count - 2) * square + squares[v]) / (count - 1) ** 2;
  });
  const within = sum(n.map((count, v) => squares[v] - sum(sums.map((s) => s[v] ** 2)) / count));
  const tried = CODES.NEIGHBOURS.map((reach) => byNeighbours(n, sums, reach, within / (used.length - m)));
  const { explained, deviates } = tried.reduce((best, each) => (sum(each.explained) > sum(best.explained) ? each : best));
  if (!deviates) return false;
  const order = [...n.keys()].sort((a, b) => own[a] - explained[a] - (own[b] - explained[b]));
  const kept = order.slice(0, m - Math.ceil(CODES.LEFT_OUT * m));
  const ownShare = sum(kept.map((v) => own[v])) / total, share = Math.max(0, sum(kept.map((v) => explained[v])) / total);
  return ownShare - share >= CODES.MIN_SHARE && share <= CODES.MAX_SMOOTH_PART * ownShare;
}

/** Return the numbers to explain: those of the target, or which rows have each of the frequent classes. */
function numbersOf({ labels, nClasses, values }, used) {
  if (!labels) return [used.map((i) => values[i])];
  const counts = new Float64Array(nClasses);
  for (const i of used) counts[labels[i]]++;
  const frequent = [...counts.keys()].sort((a, b) => counts[b] - counts[a]).slice(0, CODES.MAX_CLASSES);
  return frequent.map((k) => used.map((i) => Number(labels[i] === k)));
}

/** Return what the means of as many values on each side explain, and whether means deviate from them by more than noise. */
function byNeighbours(n, sums, reach, noise) {
  const m = n.length, explained = new Float64Array(m);
  let distance = 0, chance = 0, variance = 0;
  for (let v = 0; v < m; v++) {
    const width = Math.min(reach, v, m - 1 - v);
    const low = v === m - 1 ? m - 2 : v - width, end = v === 0 ? 2 : v + width + 1;
    const around = (x) => sum(x.subarray(low, end)) - x[v], nAround = around(n);
    for (const s of sums) {
      const guess = around(s) / nAround;
      explained[v] += 2 * guess * s[v] - n[v] * guess ** 2;
      distance += n[v] * (s[v] / n[v] - guess) ** 2;
    }
    const part = noise * (1 + n[v] / nAround);
    chance += part;
    variance += 2 * part ** 2;
  }
  return { explained, deviates: distance > chance + CODES.MIN_DEVIATIONS * Math.sqrt(variance) };
}
