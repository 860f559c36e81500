// Choice of the shares of trees and linear part, and of ramps, by cross-validation: bneuralt.fitting.trial.
import { MIN_WEIGHTS_PER_OUTPUT, N_JOINED, TRIALS } from "./recipe.js";
import { round } from "./features.js";
import { foldOfEach, mergedPart, separateRows } from "./rows.js";
import { Random } from "./random.js";
import { bestConstant, constantPart, linearPath, linesOf, lossesOf, minimised, mostLeaves, rowLoss } from "./linear.js";

/** Return what the trial of a fit chooses: {ramp_fraction, plain_fraction, output_factor, linear_share, linear, reason, starts}. */
export async function chosenByTrial(fit, usual) {
  const { isForest } = fit.options, separate = separateRows(fit.rows), seed = fit.random.bits();
  // the same folds and trees in each attempt
  const attempt = (choice, size, begins = false) => new Attempt(fit, separate, choice, size, begins).run(new Random(seed));
  const size = { ...(isForest ? TRIALS.OF_FOREST : TRIALS.OF_TREE) };
  if (separate.index.length >= TRIALS.SUFFICIENT_ROWS) size.n_used = TRIALS.SUFFICIENT_FOLDS;
  if (fit.isJoined) size.n_used = N_JOINED;
  let first = await attempt(usual, size, fit.isJoined);
  if (first.isConstant) { // small trees may be too small for what there is to learn
    const longer = await attempt(usual, TRIALS.FULL);
    first = longer.isConstant ? first : longer;
  }
  if (separate.index.length < TRIALS.MIN_ROWS_FOR_RAMPS || !fit.encoder.hasRamps || !first.learnsLittle) return first.chosen();
  const bent = { ...usual, ramp_fraction: TRIALS.RAMP_FRACTION }, isLower = (a, b) => a < (1 - TRIALS.GAIN) * b;
  const trial = await attempt(bent, { ...TRIALS.FULL, n_used: 1 });
  if (isLower(trial.foldLosses[0], mean(first.foldLosses))) { // most tables end here
    const plain = await attempt(usual, TRIALS.FULL), withRamps = await attempt(bent, TRIALS.FULL);
    if (withRamps.foldLosses.every((loss, fold) => isLower(loss, plain.foldLosses[fold]))) return withRamps.chosen();
  }
  return first.chosen();
}

/** Trees and linear models that are trained without some folds, and their best shares. */
class Attempt {
  constructor(fit, separate, choice, size, begins) {
    Object.assign(this, { fit, separate, choice, effort: size, begins, isComplete: true, starts: [] });
  }

  async run(random) {
    const { fit, separate, choice, effort: size, begins } = this, folds = foldOfEach(separate, fit.target, size.n_folds, random), places = Array.from(folds.keys());
    const scaling = fit.inputScaling(fit.rows), target = fit.targetScaling(fit.rows), { plan, settings } = this.plan();
    Object.assign(this, { scaling, target });
    const held = Array.from({ length: size.n_used }, (_, fold) => places.filter((i) => folds[i] === fold));
    const linear = fit.mayBeLinear ? linearPath(fit, separate, folds, size.n_used, scaling, target, mostLeaves(plan.n_weights, fit.k)) : null;
    this.part = linear?.part ?? null;
    const shared = Array.from({ length: size.n_trees }, () => random.bits()), parts = [];
    for (let fold = 0; fold < size.n_used; fold++) {
      const training = mergedPart(separate, places.filter((i) => folds[i] !== fold)), trees = [];
      for (const [t, seed] of (begins ? [random.bits()] : shared).entries()) {
        const place = begins ? fold : t, share = size.n_trees > 1 ? 0.5 : choice.plain_fraction; // every second one without ramps, to compare them
        const { tree, signs } = fit.start(training, scaling, settings.n_weights, choice, new Random(seed));
        const result = await fit.train(tree, signs, training, null, settings, scaling, target, seed, undefined, fit.movesOf(share, place));
        this.isComplete &&= result.status === "completed";
        trees.push(result.tree);
        if (begins) this.starts.push({ tree: result.tree, signs });
      }
      const rows = { index: Int32Array.from(held[fold], (i) => separate.index[i]) };
      parts.push({ rows, outputs: fit.outputsOf(trees, scaling, rows), linear: linear?.outputs[fold], places: held[fold] });
    }
    this.join(parts);
    this.choose();
    return this;
  }

  /** Return the plan of the model, and that of the trees of the trial: fewer weights, epochs and moves. */
  plan() {
    const { fit, effort: size, begins } = this, plan = fit.plan(fit.rows), whole = fit.weightsForTrees(plan.n_weights);
    const n_weights = begins ? fit.finalPlan().n_weights : Math.max(Math.trunc(size.weights * whole), MIN_WEIGHTS_PER_OUTPUT * fit.k);
    return { plan, settings: { ...plan, n_weights, max_epochs: Math.max(1, round(size.epochs * plan.max_epochs)), leaf_moves: TRIALS.LEAF_MOVES } };
  }

  /** Put the held-out rows of all folds together. */
  join(parts) {
    const { fit } = this, index = parts.flatMap(({ rows }) => Array.from(rows.index)), n = index.length;
    this.loss = rowLoss(fit, index, this.target);
    this.weight = Float64Array.from(parts.flatMap(({ places }) => places.map(() => 1 / places.length)));
    this.ends = parts.map(({ places }) => places.length).map((_, k, all) => all.slice(0, k + 1).reduce((a, b) => a + b));
    const joined = (of) => {
      const raw = new Float64Array(n * fit.k);
      let at = 0;
      for (const part of parts) raw.set(of(part), (at += of(part).length) - of(part).length);
      return linesOf(this.loss, raw);
    };
    this.trees = parts[0].outputs.map((_, t) => joined(({ outputs }) => outputs[t]));
    this.linear = null;
    if (this.part) {
      const { nColumns } = this.loss, nAll = this.separate.index.length, places = parts.map(({ places }) => places);
      this.linear = new Float64Array(nColumns * n);
      for (let c = 0; c < nColumns; c++) this.linear.set(parts.flatMap(({ linear }, fold) => places[fold].map((i) => linear[c * nAll + i])), c * n);
    }
  }

  losses(outputs) {
    return lossesOf(this.loss, outputs, new Float64Array(outputs.length));
  }

  foldLossesOf(losses) {
    return this.ends.map((end, k) => losses.slice(this.ends[k - 1] ?? 0, end).reduce((a, b) => a + b, 0) / (end - (this.ends[k - 1] ?? 0)));
  }

  get foldLosses() {
    const losses = this.foldLossesOf(this.shares.losses);
    return this.isComplete ? losses : losses.map(() => Infinity);
  }

  get learnsLittle() {
    return !(mean(this.foldLosses) < (1 - TRIALS.LITTLE) * mean(this.foldLossesOf(this.constantLosses)));
  }

  get constantLosses() {
    const best = bestConstant(this.loss, this.weight);
    return this.losses(Float64Array.from({ length: this.loss.target.length }, (_, i) => best[Math.floor(i / this.loss.nRows)]));
  }

  /** Find the fraction of trees without ramps, and the best shares with it. */
  choose() {
    const { trees, fit, choice } = this, average = trees[0].map((_, i) => mean(trees.map((each) => each[i])));
    this.plainFraction = choice.plain_fraction;
    if (trees.length === 1 || !fit.encoder.hasRamps) {
      this.shares = this.bestShares(average);
      return;
    }
    for (const [fraction, outputs] of [[0.5, average], [0, trees[0]], [1, trees[1]]]) {
      const shares = this.bestShares(outputs);
      if (!this.shares || shares.criterion < this.shares.criterion) [this.plainFraction, this.shares] = [fraction, shares];
    }
  }

  /** Return the shares of trees and linear part with the lowest loss on held-out rows. */
  bestShares(trees) {
    const { loss, weight, linear, fit } = this, total = weight.reduce((a, b) => a + b, 0), n = loss.nRows;
    const outputs = linear ? [trees, linear] : [trees], prior = linear ? TRIALS.EXPECTED[fit.options.isForest ? "forest" : "tree"] : [1];
    const confidence = TRIALS.CONFIDENCE / n, slopes = new Float64Array(trees.length);
    const mixed = (shares) => trees.map((_, i) => shares.reduce((sum, share, s) => sum + share * outputs[s][i], 0));
    const criterion = (shares, slope) => {
      const losses = lossesOf(loss, mixed(shares), slopes);
      let value = losses.reduce((sum, each, i) => sum + each * weight[i], 0) / total;
      outputs.forEach((each, s) => (slope[s] = each.reduce((sum, x, i) => sum + x * slopes[i] * weight[i % n], 0) / total));
      if (!loss.isClassifier) { // relative to the noise, as in its likelihood
        value = Math.max(value, 1e-300);
        slope.forEach((x, s) => (slope[s] = (0.5 * x) / value));
        value = 0.5 * Math.log(value);
      }
      shares.forEach((share, s) => {
        value += confidence * (share - prior[s]) ** 2;
        slope[s] += 2 * confidence * (share - prior[s]);
      });
      return value;
    };
    const lowest = [0, TRIALS.SMALLEST_LINEAR_SHARE].slice(0, prior.length), highest = prior.map(() => TRIALS.LARGEST_SHARE);
    const shares = Array.from(minimised(criterion, Float64Array.from(prior), prior.map(() => 1), [lowest, highest], 60), inThousandths);
    return { trees: shares[0], linear: shares[1] ?? 0, criterion: criterion(shares, []), losses: this.losses(mixed(shares)) };
  }

  /** Return by how much losses are lower than others, with the standard error. */
  gain(losses, other) {
    const total = this.weight.reduce((a, b) => a + b, 0), average = (of) => this.weight.reduce((sum, w, i) => sum + (w / total) * of(i), 0);
    const gained = average((i) => other[i] - losses[i]);
    return [gained, Math.sqrt(average((i) => (other[i] - losses[i] - gained) ** 2) / losses.length)];
  }

  get size() {
    return this.separate.index.length / TRIALS.ROWS_WITHOUT_GAIN;
  }

  /** Whether a constant is as good, as far as the held-out rows can show. */
  get isConstant() {
    if (!this.part) return false;
    const [gain, error] = this.gain(this.shares.losses, this.constantLosses);
    return gain <= Math.min(this.size, TRIALS.LARGEST_MARGIN) * error;
  }

  chosen() {
    const { fit, separate, choice, shares, part, plainFraction: plain_fraction, starts, begins, isComplete } = this;
    const found = { ...choice, plain_fraction, starts: begins && isComplete ? starts : null, reason: TRIALS.LOWEST_LOSS };
    if (!part) return { ...found, output_factor: shares.trees };
    if (this.isConstant) {
      const constant = constantPart(fit, separate, this.scaling, this.target);
      return { ...found, output_factor: 0, linear_share: 1, linear: constant, reason: TRIALS.CONSTANT_IS_AS_GOOD };
    }
    const [ofLinear, deviation] = this.gain(shares.losses, this.losses(this.linear)), isLinear = ofLinear <= deviation;
    const { size } = this;
    const moved = !isLinear && size > 1 ? 1 - size ** -TRIALS.GAIN_POWER : 0;
    return {
      ...found,
      output_factor: inThousandths(shares.trees + moved * shares.linear),
      linear_share: inThousandths((1 - moved) * shares.linear),
      linear: part,
      reason: isLinear ? TRIALS.LINEAR_IS_AS_GOOD : found.reason,
    };
  }
}

const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
const inThousandths = (x) => Math.round(1000 * x) / 1000;
