// A trained model: its predictions, its scores, and its file (docs/format.md).
import { ACTIVATIONS, KINDS, N_JOINED, number_of_ramps } from "./recipe.js";
import { fold } from "./fit.js";
import { nExamples, nSeparate } from "./rows.js";
import { nodesOf } from "./tree.js";

/** Return the folded trees of a fit. */
export const foldedTrees = ({ members, scaling, target }) => members.map(({ tree }) => fold(tree, scaling, target));

/** Return probabilities of classes, or numbers, for all rows of a table of numbers. */
export function predictions(core, encoder, trees, numbers, isClassifier) {
  if (trees.every(({ dtype }) => dtype === "float32")) {
    const table = core.table(numbers, encoder.width, encoder, {});
    const single = trees.map((tree) => ({ ...tree, theta: Float32Array.from([...tree.bias, ...tree.edge, ...tree.leafWeight]) }));
    const out = core.forward(single, table, null, isClassifier);
    core.release(table);
    return out;
  }
  const inputs = encoder.inputs(numbers), k = trees[0].k, nRows = inputs.length / encoder.nInputs, out = new Float64Array(nRows * k);
  for (let r = 0; r < nRows; r++) {
    const row = inputs.subarray(r * encoder.nInputs, (r + 1) * encoder.nInputs);
    for (const tree of trees) {
      const outputs = Array.from(nodesOf(tree, row).sums.subarray(0, k));
      const values = isClassifier ? softmax(outputs) : outputs;
      values.forEach((value, i) => (out[r * k + i] += value / trees.length));
    }
  }
  return out;
}

function softmax(values) {
  const top = Math.max(...values), powers = values.map((x) => Math.exp(x - top));
  const total = powers.reduce((a, b) => a + b, 0);
  return powers.map((x) => x / total);
}

/** Return the scores of predictions for some rows. */
export function scores(out, k, target, rows) {
  const n = rows.length;
  if (target.labels) {
    let hits = 0, loss = 0;
    for (const row of rows) {
      let best = 0;
      for (let i = 1; i < k; i++) if (out[row * k + i] > out[row * k + best]) best = i;
      hits += best === target.labels[row] ? 1 : 0;
      loss -= Math.log(Math.max(out[row * k + target.labels[row]], 1e-15));
    }
    return { accuracy: hits / n, log_loss: loss / n };
  }
  let mean = 0, squares = 0, spread = 0, absolute = 0;
  for (const row of rows) mean += target.values[row] / n;
  for (const row of rows) {
    squares += (out[row] - target.values[row]) ** 2;
    absolute += Math.abs(out[row] - target.values[row]);
    spread += (target.values[row] - mean) ** 2;
  }
  return { r2: spread > 0 ? 1 - squares / spread : null, rmse: Math.sqrt(squares / n), mae: absolute / n };
}

/** Return the predictions of the best constant: frequencies of classes, or the mean. */
export function constantPredictions(target, train, nRows) {
  if (!target.labels) {
    const mean = train.reduce((sum, row) => sum + target.values[row], 0) / train.length;
    return new Float64Array(nRows).fill(mean);
  }
  const shares = new Float64Array(target.nClasses);
  for (const row of train) shares[target.labels[row]] += 1 / train.length;
  return Float64Array.from({ length: nRows * target.nClasses }, (_, i) => shares[i % target.nClasses]);
}

const sixDigits = (x) => (Number.isFinite(x) ? Number(x.toPrecision(6)) : null);

/** Return the content of the model file. */
export function modelFile(fit, result, trees, { classes, whole, names, targetName, importances, reference, extra }) {
  const { task, options, encoder } = fit;
  const { template, estimator } = KINDS[`${task} ${options.isForest ? "forest" : "tree"}`];
  const signs = options.signs?.some(Boolean) ? options.signs : null;
  const usual = template.trees[0];
  const [member] = result.members, isSingle = !options.isForest;
  return {
    ...template,
    kind: estimator,
    settings: { ...template.settings, random_state: options.seed, n_weights: options.nWeights ?? template.settings.n_weights, monotonic_cst: signs },
    recipe: recipeFile(template.recipe, fit, result, names, signs),
    n_features: names.length,
    feature_names: names,
    encoder: encoder.features.map((feature) => feature.toPlain()),
    ranges: encoder.features.map((feature) => feature.range),
    classes: classes ? { dtype: whole ? "int64" : "str", labels: classes } : null,
    target_names: [targetName],
    constraints: signs,
    trees: result.members.map(({ tree, history, seed }, t) => ({
      ...usual,
      random_state: isSingle ? options.seed : seed,
      n_iter: history.train_loss.length,
      best_epoch: null,
      tree: treeFile(usual.tree, trees[t], tree),
    })),
    training: {
      units: "raw",
      inputs: { offset: Array.from(result.scaling.offset), factor: Array.from(result.scaling.factor) },
      target: result.target && { offset: [result.target[0]], factor: [result.target[1]] },
    },
    history: isSingle ? historyOf(member.history) : null,
    importances,
    reference,
    extra,
  };
}

/** Return all settings of the fit, with the numbers of this table in place of those of the template. */
function recipeFile({ values, reasons }, fit, { choice }, names, signs) {
  const { options, encoder, rows, isJoined } = fit, { n_weights, ...plan } = fit.plan(rows);
  const { ramp_fraction, plain_fraction, output_factor, linear, linear_share, reason } = choice, ramps = number_of_ramps(nSeparate(rows));
  const about = `rows: ${nExamples(rows).toLocaleString("en-US")}`, sentinels = encoder.features.map(({ sentinels }, j) => [names[j], sentinels ?? []]).filter(([, found]) => found.length);
  return {
    values: {
      ...values,
      ...plan,
      ...{ n_weights, ramps, output_factor, sentinels, monotonic_cst: signs },
      growth: { ...values.growth, n_joined: isJoined ? N_JOINED : 1, ramp_fraction, plain_fraction, linear_share, ...(linear && { linear_penalty: linear.penalty }) },
      training: { ...values.training, ...plan },
    },
    reasons: {
      ...Object.fromEntries(Object.keys(reasons).filter((name) => !reasons[name].startsWith("trial")).map((name) => [name, about])),
      ...(options.nWeights ? { n_weights: "set" } : {}),
      ...(reason && { output_factor: reason }),
      ...(linear && { linear_share: reason, linear_penalty: reason }),
    },
    seed: options.seed,
  };
}

function historyOf({ train_loss, train_error, learning_rate }) {
  return {
    train_loss: train_loss.map(sixDigits),
    train_score: train_error.map((error) => sixDigits(1 - error)),
    learning_rate: learning_rate.map(sixDigits),
  };
}

function treeFile(usual, folded, tree) {
  const { k, parent, leafParent } = tree;
  return {
    format: usual.format,
    version: usual.version,
    n_inputs: tree.nInputs,
    n_outputs: k,
    n_nodes: parent.length,
    n_leaves: leafParent.length,
    n_parameters: tree.theta.length,
    dtype: folded.dtype,
    output_activation: ACTIVATIONS[tree.activation[0]],
    activation: ACTIVATIONS[tree.activation.at(-1)],
    activation_parameters: [],
    trains_activations: false,
    parent: Array.from(parent),
    leaf_parent: Array.from(leafParent),
    leaf_input: Array.from(tree.leafInput),
    bias: folded.bias,
    edge: folded.edge,
    leaf_weight: folded.leafWeight,
  };
}
