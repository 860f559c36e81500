// Curves of the prediction as one column changes.
import { DAY, dateOf } from "./cells.js";
import { encodeColumn, predictionOfOutputs } from "./prediction.js";

const GRID = 32, MOST_DATES = 40, MOST_VALUES = 20;

/**
 * Return the cells at which the curve of a column is computed, null if there is no curve.
 *
 * A column of numbers has a grid and all bends of its inputs, from the smallest number of the
 * training rows to the largest one, and to that of the row if it is beyond them.
 */
export function cellsOf(column, value) {
  if (column.reads === "lookup") return column.categories.length > 1 ? column.categories : null;
  if (!column.range) return null;
  if (column.reads === "date_part") return datesBetween(column);
  const [low, high] = endsOf(column, value);
  if (!(high > low)) return null;
  const bends = [...(column.knots ?? []), ...(column.bounds ?? []), ...column.range].filter((x) => low <= x && x <= high);
  const grid = Array.from({ length: GRID + 1 }, (_, i) => low + ((high - low) * i) / GRID);
  return [...new Set([...grid, ...bends])].sort((a, b) => a - b);
}

/**
 * Return the positions of the cells that a chart shows: all, or of a category of many values those
 * of the smallest and the largest predictions and of the row's own value, ascending.
 */
export function shownCells(column, cells, value, own) {
  const places = cells.map((_, i) => i);
  if (column.reads !== "lookup" || cells.length <= 2 * MOST_VALUES) return places;
  places.sort((a, b) => own[a] - own[b]);
  return places.filter((i, rank) => rank < MOST_VALUES || rank >= cells.length - MOST_VALUES || cells[i] === String(value));
}

/** Return the ends of a curve: those of the training rows, and the number of the row. */
export function endsOf({ range: [low, high] }, value) {
  return typeof value === "number" ? [Math.min(low, value), Math.max(high, value)] : [low, high];
}

/** Return the time of a date in days. */
export const daysOf = (text, column) => dateOf(text, column.day_first)?.elapsed;

function datesBetween(column) {
  const [low, high] = column.range.map((end) => daysOf(end.slice(0, 16), column));
  if (!(high > low)) return null;
  const n = Math.min(MOST_DATES, Math.floor(high - low));
  return Array.from({ length: n + 1 }, (_, i) => {
    const days = Math.floor(low + ((high - low) * i) / n);
    return new Date(days * DAY).toISOString().slice(0, 10);
  });
}

/** Return what does not change with the row: which leaves and nodes of each tree read a column. */
export function readersOf(model, trees, columns) {
  const inputs = columns.flatMap((j) => model.columns[j].inputs);
  return trees.map((tree) => tree.readersOf(inputs));
}

/**
 * Return the mean over rows of the prediction at each cell of a column; pauses after each row.
 *
 * The result has a list of all outputs for each cell.
 */
export function* meanCurve(model, trees, j, cells, rows) {
  const readers = readersOf(model, trees, [j]);
  const inputs = cells.map((cell) => encodeColumn(model, j, cell));
  let total = null;
  for (const row of rows) {
    const runs = trees.map((tree) => tree.forward(row));
    const changed = Float64Array.from(row);
    const values = inputs.map((column) => {
      model.columns[j].inputs.forEach((at, i) => (changed[at] = column[i]));
      return predictionOfOutputs(model, trees.map((tree, t) => tree.outputsWith(runs[t], readers[t], changed)));
    });
    total = total ? total.map((sums, i) => sums.map((sum, k) => sum + values[i][k])) : values;
    yield;
  }
  return total.map((sums) => sums.map((sum) => sum / rows.length));
}
