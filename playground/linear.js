// Losses of rows as functions of linear outputs, and the linear part of models: bneuralt.fitting.row_losses and linear.
//
// Outputs have one line for each column, with the rows last. Two classes have one column.
import { MIN_WEIGHTS_PER_OUTPUT, LINEAR } from "./recipe.js";

/** Iterations of a solver that needs only slopes, and the multiplications that it may take. */
const MOST_ITERATIONS = 150, MOST_PRODUCTS = 1e9;

/** The loss of some rows: {nRows, nColumns, target}. */
export function rowLoss(fit, index, scaling) {
  const { k, isClassifier, target } = fit, nRows = index.length, nColumns = isClassifier && k === 2 ? 1 : k;
  const lines = new Float64Array(nColumns * nRows);
  index.forEach((row, i) => {
    if (!isClassifier) lines[i] = (target.values[row] - scaling[0]) * scaling[1];
    else if (k === 2) lines[i] = target.labels[row];
    else lines[target.labels[row] * nRows + i] = 1;
  });
  return { nRows, nColumns, target: lines, isClassifier };
}

/** Return the outputs of trees, [row][output], as a loss reads them. */
export function linesOf({ nRows, nColumns, isClassifier }, outputs) {
  const lines = new Float64Array(nColumns * nRows), k = outputs.length / nRows;
  for (let i = 0; i < nRows; i++) {
    if (isClassifier && nColumns === 1) lines[i] = outputs[i * k + 1] - outputs[i * k];
    else for (let c = 0; c < k; c++) lines[c * nRows + i] = outputs[i * k + c];
  }
  return lines;
}

/** Return the loss of each row, and write the slopes of outputs. */
export function lossesOf({ nRows, nColumns, target, isClassifier }, outputs, slopes) {
  const losses = new Float64Array(nRows);
  for (let i = 0; i < nRows; i++) {
    if (!isClassifier) {
      slopes[i] = outputs[i] - target[i];
      losses[i] = slopes[i] ** 2 / 2;
    } else if (nColumns === 1) {
      const z = outputs[i], power = Math.exp(-Math.abs(z));
      losses[i] = Math.max(z, 0) + Math.log1p(power) - target[i] * z;
      slopes[i] = (z < 0 ? power : 1) / (1 + power) - target[i];
    } else {
      let top = -Infinity, total = 0;
      for (let at = i; at < outputs.length; at += nRows) top = Math.max(top, outputs[at]);
      for (let at = i; at < outputs.length; at += nRows) total += slopes[at] = Math.exp(outputs[at] - top);
      losses[i] = Math.log(total);
      for (let at = i; at < outputs.length; at += nRows) {
        losses[i] -= target[at] * (outputs[at] - top);
        slopes[at] = slopes[at] / total - target[at];
      }
    }
  }
  return losses;
}

/** Return the best outputs that are the same for all rows. */
export function bestConstant({ nRows, nColumns, target, isClassifier }, weight) {
  const total = sum(weight), of = (c) => weight.reduce((s, w, i) => s + w * target[c * nRows + i], 0);
  const totals = Array.from({ length: nColumns }, (_, c) => of(c));
  if (!isClassifier) return totals.map((t) => t / total);
  const frequencies = totals.map((t) => (t + 0.5) / (total + 0.5 * Math.max(2, nColumns)));
  if (nColumns === 1) return frequencies.map((p) => Math.log(p / (1 - p)));
  const mean = sum(frequencies.map(Math.log)) / nColumns;
  return frequencies.map((p) => Math.log(p) - mean);
}

/**
 * Minimise a convex function by accelerated steps, within limits.
 *
 * objective: (x, slope) -> value, writes the slope; steps: first size of a step in each direction.
 */
export function minimised(objective, start, steps, limits, nIterations) {
  const n = start.length, inside = (x, i) => Math.min(Math.max(x, limits[0][i]), limits[1][i]);
  let x = Float64Array.from(start, inside), ahead = x, pace = 1, size = 1, last = Infinity;
  const slope = new Float64Array(n), ignored = new Float64Array(n);
  for (let iteration = 0; iteration < nIterations; iteration++) {
    const value = objective(ahead, slope);
    let next, reached, bound;
    do {
      next = ahead.map((a, i) => inside(a - size * steps[i] * slope[i], i));
      bound = value;
      for (let i = 0; i < n; i++) if (steps[i]) bound += slope[i] * (next[i] - ahead[i]) + (next[i] - ahead[i]) ** 2 / (2 * size * steps[i]);
      reached = objective(next, ignored);
    } while (!(reached <= bound + 1e-12 * Math.abs(bound)) && (size /= 2) > 1e-12);
    if (Math.abs(last - reached) <= 1e-7 * Math.abs(reached)) return next;
    const isAway = reached > last, before = pace; // begin the acceleration anew
    pace = isAway ? 1 : (1 + Math.sqrt(1 + 4 * pace * pace)) / 2;
    ahead = isAway ? next : next.map((a, i) => inside(a + ((before - 1) / pace) * (a - x[i]), i));
    [x, last] = [next, reached];
  }
  return x;
}

/** Linear models of the same rows, each with other weights of these; coefficients are lines of inputs and a constant. */
class Models {
  constructor(fit, rows, scaling, target) {
    const { encoder, numbers } = fit, { width } = encoder, cells = new Float64Array(rows.index.length * width);
    rows.index.forEach((row, i) => cells.set(numbers.subarray(row * width, (row + 1) * width), i * width));
    const all = encoder.inputs(cells), n = rows.index.length;
    this.inputs = linearInputs(encoder, scaling.factor);
    this.n = n;
    this.columns = this.inputs.map((input) => Float64Array.from({ length: n }, (_, i) => (all[i * encoder.nInputs + input] - scaling.offset[input]) * scaling.factor[input]));
    this.loss = rowLoss(fit, rows.index, target);
    this.square = this.columns.map((column) => column.reduce((s, x) => s + x * x, 0));
    this.signs = fit.inputSigns();
    this.width = this.inputs.length + 1;
    this.kept = null; // which weights may differ from 0
  }

  get nWeights() {
    return this.inputs.length * this.loss.nColumns;
  }

  constants(weight) {
    const coefficients = new Float64Array(this.loss.nColumns * this.width);
    bestConstant(this.loss, weight).forEach((value, c) => (coefficients[(c + 1) * this.width - 1] = value));
    return coefficients;
  }

  outputs(coefficients) {
    const { n, width, columns, loss } = this, out = new Float64Array(loss.nColumns * n);
    for (let c = 0; c < loss.nColumns; c++) {
      const line = out.subarray(c * n, (c + 1) * n).fill(coefficients[(c + 1) * width - 1]);
      columns.forEach((column, j) => {
        const w = coefficients[c * width + j];
        if (w) for (let i = 0; i < n; i++) line[i] += w * column[i];
      });
    }
    return out;
  }

  fitted(start, weight, penalty) {
    const { n, width, columns, loss, square, signs, inputs, kept } = this, { nColumns, isClassifier } = loss;
    const unit = isClassifier && nColumns === 1 ? 0.5 : 1, strength = penalty * unit, slopes = new Float64Array(nColumns * n);
    const curvature = !isClassifier ? 1 : nColumns === 1 ? 0.2 : Math.min(0.25, 1 / nColumns);
    const objective = (coefficients, slope) => {
      const losses = lossesOf(loss, this.outputs(coefficients), slopes);
      let value = losses.reduce((s, each, i) => s + weight[i] * each, 0);
      for (let c = 0; c < nColumns; c++) {
        const line = slopes.subarray(c * n, (c + 1) * n);
        for (let i = 0; i < n; i++) line[i] *= weight[i];
        columns.forEach((column, j) => {
          const at = c * width + j, w = coefficients[at];
          let total = strength * w;
          for (let i = 0; i < n; i++) total += line[i] * column[i];
          slope[at] = total;
          value += (strength / 2) * w * w;
        });
        slope[(c + 1) * width - 1] = sum(line);
      }
      return value;
    };
    const place = (i) => i % width, isConstant = (i) => place(i) === width - 1;
    const isKept = (i) => isConstant(i) || !kept || kept[i];
    const steps = Float64Array.from(start, (_, i) => (isKept(i) ? 1 / (curvature * (isConstant(i) ? n : square[place(i)]) + strength) : 0));
    const sign = (i) => (isConstant(i) || !signs ? 0 : signs[inputs[place(i)]]);
    const limits = [-1, 1].map((end) => Float64Array.from(start, (_, i) => (sign(i) === -end ? 0 : end * Infinity)));
    const nIterations = Math.min(MOST_ITERATIONS, Math.max(10, Math.floor(MOST_PRODUCTS / (8 * n * width * nColumns))));
    return minimised(objective, start.map((w, i) => (isKept(i) ? w : 0)), steps, limits, nIterations);
  }

  /** Return a model as a linear part: {inputs, weight: of each output, bias, penalty}. */
  part(coefficients, k, penalty) {
    const { nColumns } = this.loss, lines = Array.from({ length: nColumns }, (_, c) => coefficients.subarray(c * this.width, (c + 1) * this.width));
    const none = Array.from({ length: k - nColumns }, () => new Float64Array(this.width)); // of two classes, the first
    const all = [...none, ...lines];
    return { inputs: this.inputs, weight: all.map((line) => Array.from(line.subarray(0, -1))), bias: all.map((line) => line.at(-1)), penalty };
  }
}

/** Return the inputs of the linear part: those that random trees have, unless constant. */
export const linearInputs = (encoder, factor) => encoder.drawn.flatMap((drawn, i) => (drawn && factor[i] ? [i] : []));

/** Return the largest number of leaves of the linear part of a model. */
export const mostLeaves = (nWeights, k) => Math.max(0, Math.min(nWeights - MIN_WEIGHTS_PER_OUTPUT * k, Math.trunc(LINEAR.LARGEST_FRACTION * nWeights)));

/** Fit linear models without each of some folds, and one with all rows; return the part and the outputs for held-out rows. */
export function linearPath(fit, separate, folds, nFolds, scaling, target, most) {
  const model = new Models(fit, separate, scaling, target), { n, loss } = model;
  const of = (fold, isHeldOut) => Float64Array.from({ length: n }, (_, i) => ((folds[i] === fold) === isHeldOut ? 1 : 0));
  const used = Array.from({ length: nFolds }, (_, fold) => ({ weight: of(fold, false), held: of(fold, true) }));
  let now = used.map(({ weight }) => model.constants(weight)), best = now, penalty = LINEAR.PENALTIES[0], lowest = Infinity;
  for (const each of LINEAR.PENALTIES) {
    now = used.map(({ weight }, fold) => model.fitted(now[fold], weight, each));
    const ignored = new Float64Array(loss.nColumns * n);
    const total = sum(used.map(({ held }, fold) => lossesOf(loss, model.outputs(now[fold]), ignored).reduce((s, x, i) => s + held[i] * x, 0)));
    if (!(total < lowest)) break;
    [best, penalty, lowest] = [now, each, total];
  }
  const mean = () => best[0].map((_, i) => sum(best.map((each) => each[i])) / nFolds);
  if (most !== null && model.nWeights > most) {
    const size = mean().map((w, i) => (i % model.width === model.width - 1 ? -1 : Math.abs(w)));
    const smallest = Float64Array.from(size).sort().at(-Math.max(1, most));
    model.kept = Array.from(size, (w) => w >= smallest);
    best = used.map(({ weight }, fold) => model.fitted(best[fold], weight, penalty));
  }
  const whole = model.fitted(mean(), new Float64Array(n).fill(1), penalty);
  return { part: model.part(whole, fit.k, penalty), outputs: best.map((each) => model.outputs(each)) };
}

/** Return the part that is only the best constant. */
export function constantPart(fit, separate, scaling, target) {
  const model = new Models(fit, separate, scaling, target);
  return model.part(model.constants(new Float64Array(model.n).fill(1)), fit.k, null);
}

const sum = (values) => values.reduce((a, b) => a + b, 0);
