// From the cells of a row to what the estimator predicts.

/** Return the inputs of the trees for the cells of a row. */
export function encode(model, cells) {
  const inputs = Float64Array.from(model.means);
  model.columns.forEach((column, j) => encodeColumn(model, j, cells[j]).forEach((value, i) => (inputs[column.inputs[i]] = value)));
  return inputs;
}

/** Return the inputs of one column for a cell. */
export function encodeColumn(model, j, cell) {
  const column = model.columns[j];
  return column.inputs.map((at, i) => {
    const value = column.functions[i]([column.bounds ? limited(column, i, cell) : cell, model.means[at]]);
    return Number.isNaN(value) ? model.means[at] : value; // it is where nothing was learnt about gaps
  });
}

/** Return the number that an input of a column with bounds reads; not that which tells where gaps are. */
function limited({ bounds: [low, high], mean, sentinels, directions }, i, cell) {
  if (directions[i] === 0) return cell;
  const number = cell === null || sentinels?.includes(Number(cell)) ? mean : Number(cell);
  return number === null ? null : Math.min(Math.max(number, low), high);
}

/** Return what one tree predicts. */
export const predictionOf = (model, tree, inputs) => model.link([tree.outputs(inputs)]);

/** Return the prediction of the whole model for the inputs of a row. */
export const predict = (model, trees, inputs) => predictionOfOutputs(model, trees.map((tree) => tree.outputs(inputs)));

/** Return the prediction for the outputs of all trees. */
export function predictionOfOutputs(model, outputs) {
  if (model.averages === "outputs") return model.link([meanOf(outputs)]);
  return meanOf(outputs.map((of) => model.link([of])));
}

export const meanOf = (vectors) => (vectors.length === 1 ? vectors[0] : vectors[0].map((_, k) => vectors.reduce((sum, vector) => sum + vector[k], 0) / vectors.length));

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
