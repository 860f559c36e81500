// A fit with the settings that Python would choose: bneuralt.fitting: recipe, plan, trial, tree and forest.
import {
  batch_size, effective_share, MIN_WEIGHTS_PER_OUTPUT, IN_FOREST, KINDS, learning_rate, LINEAR, MAX_WEIGHTS_PER_ROW, MAX_ROWS_JOINED, n_epochs, n_epochs_joined, N_JOINED, ROWS, SCALING, SETTINGS,
  SINGLE, SINGLE_TREE, SPLITS,
} from "./recipe.js";
import { round } from "./features.js";
import { constrain, growthRule, linearTree, meanTree, withOutputLeaves } from "./grow.js";
import { linearInputs, mostLeaves } from "./linear.js";
import { mergedRows, nDifferent, nExamples, nSeparate, oneEpoch } from "./rows.js";
import { Random } from "./random.js";
import { chosenByTrial } from "./trial.js";
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

  get capacity() {
    return this.options.isForest ? IN_FOREST : SINGLE_TREE;
  }

  /** What a trial may change; names are those of a recipe. */
  get usual() {
    const isSmall = !this.isClassifier || nExamples(this.rows) <= SINGLE.MAX_ROWS_PLAIN;
    return { ramp_fraction: 0, plain_fraction: isSmall && this.encoder.hasRamps ? 0.5 : 0, output_factor: 1, linear_share: 0, linear: null };
  }

  nWeights(rows, capacity) {
    if (this.options.nWeights) return this.options.nWeights;
    const { isPlain, weightsPerLeaf, drawnPerFeature } = this.encoder, least = MIN_WEIGHTS_PER_OUTPUT * this.k;
    const perLeaf = isPlain ? 1 : weightsPerLeaf;
    let n = capacity.n_weights(nExamples(rows), this.k, perLeaf, this.effectiveShare(rows));
    if (!isPlain) n = Math.max(n, round(SINGLE.LEAVES_PER_OUTPUT * this.k * drawnPerFeature));
    rows.nDifferent ??= nDifferent(this.numbers, this.encoder.width, rows);
    return Math.min(n, Math.max(Math.trunc(MAX_WEIGHTS_PER_ROW * perLeaf * rows.nDifferent), least));
  }

  /** Whether several trees are trained apart, and joined into their mean. */
  get isJoined() {
    if (this.options.isForest || nExamples(this.rows) > MAX_ROWS_JOINED) return false;
    return Math.floor(this.nWeights(this.rows, SINGLE_TREE) / N_JOINED) >= SINGLE.MIN_WEIGHTS_JOINED * this.k;
  }

  /** Return the plan of the trees of the model. */
  finalPlan() {
    const plan = this.plan(this.rows), whole = this.weightsForTrees(plan.n_weights);
    if (!this.isJoined) return { ...plan, n_weights: whole };
    const n_weights = Math.max(Math.floor(whole / N_JOINED), MIN_WEIGHTS_PER_OUTPUT * this.k);
    return { ...plan, n_weights, max_epochs: n_epochs_joined(plan.max_epochs, this.mayTry) };
  }

  /** Return how many of the weights of the model its trees have. */
  weightsForTrees(nWeights) {
    if (!this.mayBeLinear) return nWeights;
    this.nLinearInputs ??= linearInputs(this.encoder, this.inputScaling(this.rows).factor).length;
    const nColumns = this.isClassifier && this.k === 2 ? 1 : this.k;
    const nBeside = this.options.isForest ? Math.trunc(LINEAR.FRACTION_BESIDE * nWeights) : 0;
    return nWeights - Math.max(0, Math.min(nColumns * this.nLinearInputs, mostLeaves(nWeights, this.k)) - nBeside);
  }

  /** Return the size of a tree and all settings of its training on some rows. */
  plan(rows, capacity = this.capacity) {
    const n = nExamples(rows);
    return {
      n_weights: this.nWeights(rows, capacity),
      learning_rate: learning_rate(n, this.nClasses),
      weight_decay: capacity.weight_decay(this.effectiveShare(rows) * n),
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
    const size = Math.max(ROWS.MIN_ROWS_OF_SAMPLE, Math.min(ROWS.SUFFICIENT_ROWS, Math.floor(ROWS.SUFFICIENT_NUMBERS / Math.max(1, n))));
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
    const rule = growthRule(this.encoder, scaling.factor, this.k, nWeights, choice.ramp_fraction);
    const tree = this.core.grow(rule, [random.bits(), random.bits()]);
    const inputSigns = this.inputSigns();
    const signs = inputSigns && constrain(tree, inputSigns, this.isClassifier ? [-1, 1] : [1]);
    return { tree, signs };
  }

  async train(tree, signs, rows, validation, plan, scaling, target, seed, onEpoch, mayMoveTo) {
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
      mayMoveTo,
    }, onEpoch);
  }

  /** Return the inputs that leaves of the tree at a place may move to, if a fraction of the trees has no ramps; null: all. */
  movesOf(fraction, place) {
    return Math.floor(fraction * (place + 1)) > Math.floor(fraction * place) ? Uint8Array.from(this.encoder.drawn) : null;
  }

  /** Return the mean of trees as that of the model, with the linear part. */
  finished(trees, { output_factor, linear, linear_share }) {
    const tree = withFactor(meanTree(trees), output_factor);
    return linear && linear_share ? withOutputLeaves(tree, linear, linear_share) : tree;
  }

  /** Train the trees of the model; `report` gets what they are like on the way, and may end it. */
  async run(report = () => false) {
    const { starts, ...choice } = await this.choose();
    const plan = this.finalPlan();
    const scaling = this.inputScaling(this.rows), target = this.targetScaling(this.rows);
    const nTrees = this.options.isForest ? KINDS[`${this.task} forest`].n_trees : 1, nParts = this.isJoined ? N_JOINED : 1;
    const members = [];
    let isStopped = false;
    for (let t = 0; t < nTrees && !isStopped; t++) {
      const parts = []; // trained apart; their mean is the tree
      for (let part = 0; part < nParts && !isStopped; part++) {
        const { tree, signs } = starts?.[part] ?? this.start(this.rows, scaling, plan.n_weights, choice, this.random);
        const joined = (last) => this.finished([...parts.map((result) => result.tree), last], choice);
        const context = { start: joined(tree), t, nTrees, part, nParts, plan, scaling, target, choice };
        isStopped ||= Boolean(report({ ...context, epoch: 0, loss: null, now: () => context.start }));
        const seed = this.random.bits();
        const result = await this.train(tree, signs, this.rows, null, plan, scaling, target, seed, (epoch, loss, now) => {
          isStopped ||= Boolean(report({ ...context, epoch: epoch + 1, loss, now: () => joined({ ...tree, ...now() }) }));
          return isStopped;
        }, this.movesOf(choice.plain_fraction, t * nParts + part));
        parts.push({ ...result, seed });
      }
      const done = parts.filter(({ status }) => status !== "diverged"), kept = done.length ? done : parts.slice(0, 1);
      const tree = this.finished(kept.map((result) => result.tree), choice);
      members.push({ ...kept[0], tree, history: meanHistory(kept) });
    }
    return { members, plan, scaling, target, choice };
  }

  /** Return what `run` has trained without branches that contribute nothing. */
  withoutIdle(result) {
    const { offset, factor, low, high } = result.scaling, scaled = (ends) => ends.map((x, i) => (x - offset[i]) * factor[i]);
    const ends = { low: scaled(low), high: scaled(high) };
    return { ...result, members: result.members.map((member) => ({ ...member, tree: withoutIdleBranches(member.tree, ends) })) };
  }

  /** Train a linear model on the same inputs. */
  async linear() {
    const scaling = this.inputScaling(this.rows), target = this.targetScaling(this.rows);
    const tree = linearTree(this.encoder, scaling.factor, this.k);
    const plan = { ...this.plan(this.rows, SINGLE_TREE), leaf_moves: 0, weight_decay: 0.01 };
    const result = await this.train(tree, null, this.rows, null, plan, scaling, target, 1);
    return { members: [result], scaling, target };
  }

  // -- trial ------------------------------------------------------------------------------

  /** Whether there are enough rows for a cross-validation, and not too many. */
  get mayTry() {
    return nSeparate(this.rows) >= SPLITS.MIN_ROWS_TO_SPLIT && nExamples(this.rows) <= SINGLE.MAX_ROWS_FOR_TRIAL;
  }

  /** Whether the model may have a linear part. */
  get mayBeLinear() {
    return this.mayTry && mostLeaves(this.nWeights(this.rows, this.capacity), this.k) > 0;
  }

  choose() {
    return this.mayTry ? chosenByTrial(this, this.usual) : this.usual;
  }

  /** Return the outputs of each tree for some rows. */
  outputsOf(trees, scaling, rows) {
    const { encoder } = this, { width } = encoder, numbers = new Float64Array(rows.index.length * width);
    rows.index.forEach((row, i) => numbers.set(this.numbers.subarray(row * width, (row + 1) * width), i * width));
    const table = this.core.table(numbers, width, encoder, {});
    const outputs = trees.map((tree) => this.core.forward([tree], table, [scaling], false));
    this.core.release(table);
    return outputs;
  }
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

/** Return the means of the figures of each epoch that all results have. */
function meanHistory(results) {
  const n = Math.min(...results.map(({ history }) => history.train_loss.length));
  const of = (name) => Array.from({ length: n }, (_, epoch) => mean(results.map(({ history }) => history[name][epoch])));
  return Object.fromEntries(Object.keys(results[0].history).map((name) => [name, of(name)]));
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
