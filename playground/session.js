// From a table and the wishes of the user to a trained model, with everything that is shown of it.
import { number_of_ramps, TEST_FRACTION } from "./recipe.js";
import { TableError } from "./csv.js";
import { isCode } from "./codes.js";
import { Encoder } from "./features.js";
import { Fit } from "./fit.js";
import { featuresOf, learnTarget, readColumn, readTarget } from "./layout.js";
import { Random } from "./random.js";
import { splitRows } from "./rows.js";
import { constantPredictions, foldedTrees, modelFile, predictions, scores } from "./trained.js";
import { learnImportances } from "./importances.js";
import { pageData } from "./page_data.js";

export const MOST_CLASSES = 300;

/**
 * Read the columns that a model is trained on.
 *
 * `wishes` are {target, task, columns, decimal, testFraction, seed}; columns are those of
 * `learnColumns`, with the kinds that the user has chosen.
 */
export function prepare(table, wishes) {
  const { target: position, decimal } = wishes;
  const learnt = learnTarget(table, position, decimal, wishes.task ?? "auto");
  const target = readTarget(table, position, learnt, decimal);
  const features = featuresOf(wishes.columns, position);
  if (!features.length) throw new TableError("No column is left to predict from: use at least one column beside the target.");
  target.nClasses = target.classes?.length;
  if (target.nClasses > MOST_CLASSES) {
    throw new TableError(`The target “${table.names[position]}” has ${target.nClasses} classes, and the playground takes at most ${MOST_CLASSES}: choose another target.`);
  }
  const known = [];
  for (let row = 0; row < table.nRows; row++) if (target.labels ? target.labels[row] >= 0 : !Number.isNaN(target.values[row])) known.push(row);
  const { train, test } = splitRows(known, target, wishes.testFraction ?? TEST_FRACTION, new Random(wishes.seed ?? 0));
  if (train.length < 2) throw new TableError(`${train.length} row${train.length === 1 ? " is" : "s are"} left for training: at least 2 are needed.`);
  if (target.labels && new Set(train.map((row) => target.labels[row])).size < 2) throw new TableError("All training rows have the same class: at least two are needed.");
  const isKnown = ({ kind, isChosen, position }) => kind !== "number" || isChosen || wishes.signs?.[position];
  const columns = features.map((feature) => ({ ...readColumn(table, feature, decimal), mayBeCode: !isKnown(feature) }));
  return { learnt, target, features, columns, train, test, nRows: table.nRows };
}

/** Return the encoder of the training rows and the numbers of all rows. */
export function encode({ features, columns, target, train, nRows }) {
  const ofTraining = target.labels
    ? { labels: Int32Array.from(train, (row) => target.labels[row]), nClasses: target.nClasses }
    : { values: Float64Array.from(train, (row) => target.values[row]) };
  for (const column of columns) column.isCategory ||= column.mayBeCode && isCode(column.values, train, ofTraining);
  const encoder = Encoder.learn(columns, features.map(({ name }) => name), train, ofTraining, number_of_ramps(train.length));
  return { encoder, numbers: encoder.numbers(columns, nRows) };
}

/**
 * Train a model.
 *
 * `report` has functions: begin (what is trained), epoch (the tree on the way; may end the training)
 * and pause (called before each training; may end all by an exception). `stopped` is what a training
 * had reached when it was stopped: then it is only described.
 */
export async function trainModel(core, table, wishes, report, stopped = null) {
  const prepared = prepare(table, wishes);
  const { target, features, train } = prepared;
  const { encoder, numbers } = encode(prepared);
  const options = {
    nWeights: wishes.nWeights ?? null,
    isForest: Boolean(wishes.isForest),
    signs: features.map(({ position }) => wishes.signs?.[position] ?? 0),
    seed: wishes.seed ?? 0,
  };
  if (options.signs.some(Boolean) && target.nClasses > 2) {
    throw new TableError(`Rising and falling effects need two classes or numbers to predict, and “${table.names[wishes.target]}” has ${target.nClasses} classes.`);
  }
  features.forEach(({ name }, j) => {
    if (options.signs[j] && encoder.features[j].kind !== "number") {
      throw new TableError(`The effect of “${name}” cannot be made to rise or fall: only that of numbers can.`);
    }
  });
  const fit = new Fit(core, encoder, numbers, target, train, options, report.pause);
  try {
    report.begin?.({ encoder, k: fit.k, isClassifier: fit.isClassifier, classes: target.classes, names: features.map(({ name }) => name) });
    const result = fit.withoutIdle(stopped ?? (await fit.run(report.epoch)));
    return describe(core, table, wishes, prepared, encoder, numbers, fit, result, await fit.linear());
  } finally {
    fit.close();
  }
}

function describe(core, table, wishes, prepared, encoder, numbers, fit, result, linear) {
  const { target, train, test, learnt, features } = prepared;
  const trees = foldedTrees(result), isClassifier = fit.isClassifier;
  const rows = test.length ? test : train;
  const predicted = predictions(core, encoder, trees, numbers, isClassifier);
  const of = (values) => scores(values, fit.k, target, rows);
  const ofLinear = predictions(core, encoder, foldedTrees(linear), numbers, isClassifier);
  const held = { model: of(predicted), linear: of(ofLinear), constant: of(constantPredictions(target, train, table.nRows)) };
  const names = features.map(({ name }) => name), targetName = table.names[wishes.target];
  const file = modelFile(fit, result, trees, {
    classes: target.classes,
    whole: learnt.whole,
    names,
    targetName,
    ...learnImportances(encoder, trees, numbers, new Random(wishes.seed ?? 0).shuffled(train)),
    extra: { table: layoutFile(table, wishes, learnt, features), held_out_scores: test.length ? held.model : null },
  });
  return {
    file,
    predicted,
    page: pageData(file, encoder, trees, result),
    scores: held,
    nTest: test.length,
    nTrain: train.length,
    nWeights: trees.reduce((sum, tree) => sum + tree.theta.length, 0),
    status: result.members.some(({ status }) => status === "diverged") ? "diverged" : "completed",
    task: fit.task,
    plan: result.plan,
  };
}

/** Return how the table is read, as `bneuralt train` stores it. */
function layoutFile(table, wishes, learnt, features) {
  return {
    columns: features.map(({ name, position, kind }) => ({ name, position, kind })),
    target: table.names[wishes.target],
    target_position: wishes.target,
    task: learnt.task,
    whole_numbers: learnt.whole,
    n_columns: table.names.length,
    has_header: table.hasHeader,
    target_notation: learnt.notation ? { ...learnt.notation } : {},
    decimal: wishes.decimal,
    delimiter: "",
    encoding: "",
  };
}
