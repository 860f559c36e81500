// From the cells of a row to what the estimator predicts.

/** Return the inputs of the trees for the cells of a row. */
export function encode(model, cells) {
  const inputs = Float64Array.from(model.means);
  model.columns.forEach((column, j) => {
    column.inputs.forEach((at, i) => {
      const value = column.functions[i]([cells[j], model.means[at]]);
      if (!Number.isNaN(value)) inputs[at] = value; // it is where nothing was learnt about gaps
    });
  });
  return inputs;
}

/** Return what one tree predicts. */
export const predictionOf = (model, tree, inputs) => model.link([tree.outputs(inputs)]);

/** Return the prediction of the whole model for the inputs of a row. */
export function predict(model, trees, inputs) {
  if (model.averages === "outputs") return model.link([meanOf(trees.map((tree) => tree.outputs(inputs)))]);
  return meanOf(trees.map((tree) => predictionOf(model, tree, inputs)));
}

const meanOf = (vectors) => vectors[0].map((_, k) => vectors.reduce((sum, vector) => sum + vector[k], 0) / vectors.length);

/** Return the position of the largest number, the first one if there are several. */
export const largest = (numbers) => numbers.reduce((best, x, k) => (x > numbers[best] ? k : best), 0);

/** Return the sign with which each output counts for what is explained. */
export function directions(model, votes, output) {
  const signs = votes.map(() => 0);
  if (output !== null) signs[output] = 1;
  else if (model.task === "numbers" || model.task === "labels") signs[0] = 1;
  else {
    const first = largest(votes);
    signs[first] = 1;
    if (votes.length > 1) {
      signs[largest(votes.map((vote, k) => (k === first ? -Infinity : vote)))] = -1;
    }
  }
  return signs;
}
