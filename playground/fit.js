// A fit with the settings that Python would choose: bneuralt.estimators.single, forest and trials.
import {
  batch_size, effective_share, FEWEST_PER_OUTPUT, IN_FOREST, KINDS, learning_rate, MOST_PER_ROW, n_epochs, ROWS, SCALING, SETTINGS,
  SINGLE, SINGLE_TREE, SPLITS, TRIALS,
} from "./recipe.js";
import { round } from "./features.js";
import { constrain, drawTree, linearTree } from "./grow.js";
import { foldOfEach, mergedPart, mergedRows, nDifferent, nExamples, nSeparate, oneEpoch, separateRows } from "./rows.js";
import { Random } from "./random.js";
import { withoutIdleBranches } from "./idle.js";
import { weightsOf } from "./tree.js";

/** What a table and the wishes of the user are for a fit; `task` is classification or regression. */
export class Fit {
  /**
   * options: {nWeights: number or null, isForest, signs: of each feature (-1, 0, 1), seed}.
   *
   * `pause` is called before each training; it may end the fit by an exception.
   */
  constructor(core, encoder, numbers, target, positions, options, pause = async () => {}) {
    Object.assign(this, { core, encoder, numbers, target, options, pause });
    this.isClassifier = Boolean(target.labels);
    this.k = this.isClassifier ? target.nClasses : 1;
    this.task = this.isClassifier ? "classification" : "regression";
    this.recipe = KINDS[`${this.task} tree`];
    this.rows = mergedRows(numbers, encoder.width, target, positions);
    this.table = core.table(numbers, encoder.width, encoder, target);
    this.random = new Random(options.seed);
  }

  close() {
    this.core.release(this.table);
  }

  // -- settings ---------------------------------------------------------------------------

  effectiveShare(rows) {
    if (!this.isClassifier) return 1;
    const counts = Array(this.k).fill(0);
    rows.index.forEach((row, i) => (counts[this.target.labels[row]] += rows.copies ? rows.copies[i] : 1));
    return effective_share(counts);
  }

  get nClasses() {
    return this.isClassifier ? this.k : 1;
  }

  nWeights(rows, capacity) {
    if (this.options.nWeights) return this.options.nWeights;
    const { isPlain, weightsPerLeaf, drawnPerFeature } = this.encoder, least = FEWEST_PER_OUTPUT * this.k;
    const perLeaf = isPlain ? 1 : weightsPerLeaf;
    let n = capacity.n_weights(nExamples(rows), this.k, perLeaf, this.effectiveShare(rows));
    if (!isPlain) n = Math.max(n, round(SINGLE.LEAVES_PER_OUTPUT * this.k * drawnPerFeature));
    rows.nDifferent ??= nDifferent(this.numbers, this.encoder.width, rows);
    return Math.min(n, Math.max(Math.trunc(MOST_PER_ROW * perLeaf * rows.nDifferent), least));
  }

  /** Return the size of a tree and all settings of its training on some rows. */
  plan(rows, choice = TRIALS.USUAL, isMember = this.options.isForest) {
    const capacity = isMember ? IN_FOREST : SINGLE_TREE, n = nExamples(rows);
    return {
      n_weights: this.nWeights(rows, capacity),
      learning_rate: learning_rate(n, this.nClasses),
      weight_decay: choice.decay_factor * capacity.weight_decay(this.effectiveShare(rows) * n),
      batch_size: batch_size(n),
      max_epochs: n_epochs(n, this.recipe.fewest_epochs, this.nClasses),
    };
  }

  settings(plan) {
    return Float64Array.from(SETTINGS, (name, i) => plan[name] ?? Number(this.recipe.numbers[i]));
  }

  // -- scaling ----------------------------------------------------------------------------

  /** Return the scaling of inputs to mean 0 and variance 1, with their ends; categories of a column share a factor. */
  inputScaling(rows) {
    const { encoder, numbers } = this, n = encoder.nInputs, { width } = encoder;
    const offset = new Float64Array(n), factor = new Float64Array(n), deviation = new Float64Array(n), varies = new Uint8Array(n);
    const low = new Float64Array(n), high = new Float64Array(n);
    const size = Math.max(ROWS.FEWEST_ROWS, Math.min(ROWS.ENOUGH_ROWS, Math.floor(ROWS.ENOUGH_NUMBERS / Math.max(1, n))));
    const total = rows.index.length, all = Int32Array.from({ length: total }, (_, i) => i);
    const some = total <= size ? all : Int32Array.from({ length: size }, (_, i) => Math.floor((i * total) / size));
    const column = new Float64Array(total), weight = new Float64Array(total);
    for (let c = 0; c < width; c++) {
      for (let i = encoder.lineStart[c]; i < encoder.lineStart[c + 1]; i++) {
        const [start, slope, least, most] = [0, 1, 2, 3].map((part) => encoder.lines[part * n + i]);
        const used = start === 0 && slope === 1 && least === -Infinity && most === Infinity ? all : some;
        for (let r = 0; r < used.length; r++) {
          const x = (numbers[rows.index[used[r]] * width + c] - start) * slope;
          column[r] = x < least ? least : x > most ? most : x;
          weight[r] = rows.weight[used[r]];
        }
        ({ offset: offset[i], deviation: deviation[i], varies: varies[i], low: low[i], high: high[i] } = moments(column, weight, used.length));
      }
    }
    for (const inputs of encoder.oneHot) {
      const varying = inputs.filter((i) => varies[i]);
      const shared = Math.hypot(...varying.map((i) => deviation[i]));
      for (const i of inputs) if (varying.length) deviation[i] = shared;
    }
    for (let i = 0; i < n; i++) factor[i] = varies[i] ? 1 / deviation[i] : 0;
    return { offset, factor, low, high };
  }

  targetScaling(rows) {
    if (this.isClassifier) return null;
    const { offset, deviation, varies } = moments(Float64Array.from(rows.index, (row) => this.target.values[row]), rows.weight, rows.index.length);
    return Float64Array.of(offset, varies ? 1 / deviation : 0);
  }

  // -- training ---------------------------------------------------------------------------

  inputSigns() {
    const wanted = this.options.signs;
    if (!wanted?.some(Boolean)) return null;
    return Int8Array.from(this.encoder.groups, (j, i) => wanted[j] * (this.encoder.signs[i] ?? 0));
  }

  /** Draw a tree for some rows. */
  start(rows, scaling, nWeights, choice, random) {
    const tree = drawTree(random, this.encoder, scaling.factor, this.k, nWeights, choice.ramp_share);
    const inputSigns = this.inputSigns();
    const signs = inputSigns && constrain(tree, inputSigns, this.isClassifier ? [-1, 1] : [1]);
    return { tree, signs };
  }

  async train(tree, signs, rows, validation, plan, scaling, target, seed, onEpoch) {
    await this.pause();
    const { loss_parameters, optimizer_parameters } = this.recipe;
    return this.core.train(tree, this.table, {
      scaling,
      target,
      rows: oneEpoch(rows),
      validation: validation && { index: validation.index, weight: validation.weight },
      signs,
      settings: this.settings(plan),
      loss: Float64Array.from(loss_parameters),
      optimizer: Float64Array.from(optimizer_parameters),
      seed,
    }, onEpoch);
  }

  /** Train the trees of the model; `report` gets what they are like on the way, and may end it. */
  async run(report = () => false) {
    const choice = await this.choose();
    const plan = this.plan(this.rows, choice);
    const scaling = this.inputScaling(this.rows), target = this.targetScaling(this.rows);
    const nTrees = this.options.isForest ? KINDS[`${this.task} forest`].n_trees : 1;
    const members = [];
    let isStopped = false;
    for (let t = 0; t < nTrees && !isStopped; t++) {
      const { tree, signs } = this.start(this.rows, scaling, plan.n_weights, choice, this.random);
      const context = { start: tree, t, nTrees, plan, scaling, target, choice };
      isStopped ||= Boolean(report({ ...context, epoch: 0, loss: null, now: () => tree }));
      const seed = this.random.bits();
      const result = await this.train(tree, signs, this.rows, null, plan, scaling, target, seed, (epoch, loss, now) => {
        isStopped ||= Boolean(report({ ...context, epoch: epoch + 1, loss, now: () => ({ ...tree, ...now() }) }));
        return isStopped;
      });
      members.push({ ...result, tree: withFactor(result.tree, choice.output_factor ?? 1), seed });
    }
    return { members, plan, scaling, target, choice };
  }

  /** Return what `run` has trained without branches that contribute nothing, if the size is automatic. */
  withoutIdle(result) {
    if (this.options.nWeights) return result;
    const { offset, factor, low, high } = result.scaling, scaled = (ends) => ends.map((x, i) => (x - offset[i]) * factor[i]);
    const ends = { low: scaled(low), high: scaled(high) };
    return { ...result, members: result.members.map((member) => ({ ...member, tree: withoutIdleBranches(member.tree, ends) })) };
  }

  /** Train a linear model on the same inputs. */
  async linear() {
    const scaling = this.inputScaling(this.rows), target = this.targetScaling(this.rows);
    const tree = linearTree(this.encoder, scaling.factor, this.k);
    const plan = { ...this.plan(this.rows, TRIALS.USUAL, false), leaf_moves: 0, weight_decay: 0.01 };
    const result = await this.train(tree, null, this.rows, null, plan, scaling, target, 1);
    return { members: [result], scaling, target };
  }

  // -- cross-validation of the decay --------------------------------------------------------

  async choose() {
    const n = nSeparate(this.rows), { isForest } = this.options;
    if (n < SPLITS.FEWEST_ROWS_TO_SPLIT || nExamples(this.rows) > TRIALS.MOST_ROWS) return TRIALS.USUAL;
    const separate = separateRows(this.rows), seed = this.random.bits();
    // the same folds and trees in each call
    const attempt = (choice, effort) => this.tryChoice(separate, choice, effort, new Random(seed));
    const effort = { ...(isForest ? TRIALS.OF_FOREST : TRIALS.OF_TREE) };
    if (separate.index.length >= TRIALS.ENOUGH_ROWS) effort.n_used = TRIALS.ENOUGH_FOLDS;
    let choice = TRIALS.USUAL, tried = await attempt(choice, effort);
    const rule = TRIALS.DECAY_RULES[this.isClassifier ? `${isForest ? "forest" : "tree"} classifier` : "regressor"];
    if (separate.index.length >= rule.fewest_rows && tried.factor < rule.largest_factor) {
      const other = await attempt(TRIALS.MORE, effort);
      if (isBetter(other, tried)) [choice, tried] = [TRIALS.MORE, other];
    }
    const loss = mean(tried.losses);
    if (this.learnsLittle(separate, loss)) {
      const first = await attempt(TRIALS.RAMPS, { ...TRIALS.FULL, n_used: 1 });
      if (first.losses[0] < (1 - TRIALS.GAIN) * loss) {
        const usual = await attempt(TRIALS.USUAL, TRIALS.FULL), withRamps = await attempt(TRIALS.RAMPS, TRIALS.FULL);
        if (withRamps.losses.every((x, fold) => x < (1 - TRIALS.GAIN) * usual.losses[fold])) {
          return { ...TRIALS.RAMPS, output_factor: withRamps.factor };
        }
      }
    }
    return { ...choice, output_factor: tried.factor };
  }

  learnsLittle(separate, loss) {
    if (!this.encoder.hasRamps || separate.index.length < TRIALS.ROWS_FOR_RAMPS) return false;
    let usual = 0.5;
    if (this.isClassifier) {
      const shares = Array(this.k).fill(0);
      for (const row of separate.index) shares[this.target.labels[row]] += 1 / separate.index.length;
      usual = -shares.reduce((sum, p) => sum + (p > 0 ? p * Math.log(p) : 0), 0);
    }
    return !(loss < (1 - TRIALS.LITTLE) * usual);
  }

  /** Train trees of a choice on parts of the rows; return losses on held-out rows and the best factor of outputs. */
  async tryChoice(separate, choice, effort, random) {
    const folds = foldOfEach(separate, this.target, effort.n_folds, random), places = Array.from(folds.keys());
    const parts = Array.from({ length: effort.n_used }, (_, fold) => ({
      training: mergedPart(separate, places.filter((i) => folds[i] !== fold)),
      heldOut: mergedPart(separate, places.filter((i) => folds[i] === fold)),
    }));
    // Folds have rows of their own, and the rest in common: trees, scaling and settings.
    const [{ training: first }] = parts, scaling = this.inputScaling(first), target = this.targetScaling(first), usual = this.plan(first);
    const nWeights = Math.max(Math.trunc(effort.weights * usual.n_weights), FEWEST_PER_OUTPUT * this.k);
    const seeds = Array.from({ length: effort.n_trees }, () => random.bits());
    const plan = {
      ...usual,
      max_epochs: Math.max(1, round(effort.epochs * usual.max_epochs)),
      weight_decay: choice.decay_factor * usual.weight_decay,
      leaf_moves: TRIALS.LEAF_MOVES,
    };
    const scored = [];
    for (const { training, heldOut } of parts) {
      const trees = [];
      for (const seed of seeds) {
        const { tree, signs } = this.start(first, scaling, nWeights, choice, new Random(seed));
        const result = await this.train(tree, signs, training, null, plan, scaling, target, seed);
        if (result.status !== "completed") return { losses: parts.map(() => Infinity), factor: 1 };
        trees.push(result.tree);
      }
      scored.push(this.outputsOf(trees, scaling, target, heldOut));
    }
    return this.bestFactor(scored);
  }

  /** Return the outputs of each tree for some rows, with scaled targets and weights. */
  outputsOf(trees, scaling, target, rows) {
    const { encoder } = this, { width } = encoder, numbers = new Float64Array(rows.index.length * width);
    rows.index.forEach((row, i) => numbers.set(this.numbers.subarray(row * width, (row + 1) * width), i * width));
    const table = this.core.table(numbers, width, encoder, {});
    const outputs = trees.map((tree) => this.core.forward([tree], table, [scaling], false));
    this.core.release(table);
    const y = Array.from(rows.index, (row) => (this.isClassifier ? this.target.labels[row] : (this.target.values[row] - target[0]) * target[1]));
    return { outputs, y, weight: rows.weight };
  }

  /** Return the loss of the mean of trees whose outputs are multiplied by a factor. */
  lossOfMean({ outputs, y, weight }, factor) {
    const { k } = this;
    let loss = 0, total = 0;
    y.forEach((truth, i) => {
      let value = 0;
      for (const out of outputs) {
        if (this.isClassifier) {
          let top = -Infinity, sum = 0;
          for (let j = 0; j < k; j++) top = Math.max(top, factor * out[i * k + j]);
          for (let j = 0; j < k; j++) sum += Math.exp(factor * out[i * k + j] - top);
          value += Math.exp(factor * out[i * k + truth] - top) / sum / outputs.length;
        } else value += (factor * out[i]) / outputs.length;
      }
      loss += weight[i] * (this.isClassifier ? -Math.log(Math.max(value, 1e-15)) : (value - truth) ** 2 / 2);
      total += weight[i];
    });
    return loss / total;
  }

  /** Return the factor of outputs with the lowest mean loss, found by golden sections of its logarithm. */
  bestFactor(parts) {
    const losses = (factor) => parts.map((part) => this.lossOfMean(part, factor)), of = (x) => mean(losses(Math.exp(x)));
    const golden = (Math.sqrt(5) - 1) / 2;
    let low = Math.log(TRIALS.LEAST_FACTOR), high = Math.log(TRIALS.LARGEST_FACTORS[this.recipe.loss]);
    while (high - low > 0.01) {
      const [a, b] = [high - golden * (high - low), low + golden * (high - low)];
      if (of(a) < of(b)) high = b;
      else low = a;
    }
    const factor = Math.round(100 * Math.exp((low + high) / 2)) / 100;
    return { losses: losses(factor), factor };
  }
}

/** Return whether another loss is lower by a standard error; not where a training diverged. */
function isBetter(other, usual) {
  const gain = usual.losses.map((loss, fold) => loss - other.losses[fold]);
  if (!gain.every(Number.isFinite)) return false;
  const average = mean(gain), deviation = Math.sqrt(gain.reduce((sum, g) => sum + (g - average) ** 2, 0) / (gain.length - 1));
  return average > Math.max(deviation / Math.sqrt(gain.length), TRIALS.LEAST_GAIN);
}

/** Multiply the outputs of a tree, which are linear. */
function withFactor(tree, factor) {
  if (factor === 1) return tree;
  const { parent, leafParent, k } = tree, n = parent.length, theta = Float32Array.from(tree.theta);
  for (let i = 0; i < k; i++) theta[i] *= factor;
  for (let i = k; i < n; i++) if (parent[i] < k) theta[n + i - k] *= factor;
  leafParent.forEach((node, l) => node < k && (theta[2 * n - k + l] *= factor));
  return { ...tree, theta };
}

const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;

/** Return mean, deviation, and whether the values differ by more than rounding. */
function moments(values, weight, n) {
  let low = Infinity, high = -Infinity, total = 0, sum = 0, square = 0;
  for (let i = 0; i < n; i++) {
    if (values[i] < low) low = values[i];
    if (values[i] > high) high = values[i];
  }
  const span = high - low, rounding = 4 * Number.EPSILON * Math.max(Math.abs(low), Math.abs(high));
  const varies = span > Math.max(rounding, 1e-300), unit = varies && Number.isFinite(span) ? span : 1;
  for (let i = 0; i < n; i++) {
    const z = (values[i] - low) / unit;
    total += weight[i];
    sum += weight[i] * z;
    square += weight[i] * z * z;
  }
  const average = sum / total, variance = Math.max(square / total - average * average, 1e-12);
  return { offset: low + average * unit, deviation: Math.sqrt(variance) * unit, varies: varies ? 1 : 0, low, high };
}

/** Fold the scaling of inputs and target into the weights; return biases, edges and leaves. */
export function fold(tree, scaling, target) {
  const { parent, k, leafParent, leafInput } = tree;
  const [bias, edge, leaf] = Object.values(weightsOf(tree)).map((weights) => Float64Array.from(weights));
  leafInput.forEach((input, l) => {
    leaf[l] *= scaling.factor[input];
    bias[leafParent[l]] -= leaf[l] * scaling.offset[input];
  });
  if (target) {
    const factor = target[1] ? 1 / target[1] : 0;
    for (let i = 0; i < k; i++) bias[i] = factor * bias[i] + target[0];
    edge.forEach((w, i) => parent[i + k] < k && (edge[i] = w * factor));
    leaf.forEach((w, l) => leafParent[l] < k && (leaf[l] = w * factor));
  }
  const isSingle = fitsFloat32(scaling.offset, scaling.factor) && (!target || (fitsFloat32([target[0]], [target[1]]) && (target[1] || Math.fround(target[0]) === target[0])));
  const kept = isSingle ? (values) => Array.from(values, Math.fround) : (values) => Array.from(values);
  return { ...tree, dtype: isSingle ? "float32" : "float64", bias: kept(bias), edge: kept(edge), leafWeight: kept(leaf) };
}

function fitsFloat32(offset, factor) {
  return Array.from(factor).every((f, i) => {
    const size = Math.abs(f), isInRange = f === 0 || (size < SCALING.LARGEST_FACTOR && size > 1 / SCALING.LARGEST_FACTOR);
    return isInRange && Math.abs(offset[i] * f) < SCALING.LARGEST_OFFSET;
  });
}
