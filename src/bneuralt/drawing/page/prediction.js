// From the outputs of trees to what the estimator predicts.

const LINKS = {
  softmax(outputs) {
    const most = Math.max(...outputs);
    const shares = outputs.map((score) => Math.exp(score - most));
    return divided(shares, sumOf(shares));
  },
  shares(outputs, tiny) {
    const shares = outputs.map((output) => Math.max(output, tiny));
    return divided(shares, sumOf(shares));
  },
  sigmoid: (outputs) => outputs.map((score) => 1 / (1 + Math.exp(-score))),
  identity: (outputs) => outputs,
};

const sumOf = (numbers) => numbers.reduce((total, x) => total + x, 0);
const divided = (numbers, by) => numbers.map((x) => x / by);

/** Return what one tree says: probabilities, or the values of a regressor before `finish`. */
export const voteOf = (model, tree, outputs) => LINKS[tree.link](outputs, model.tiny);

/** Return the prediction of the whole model for the inputs of an example. */
export function predict(model, trees, inputs) {
  const total = new Array(model.outputs.length).fill(0);
  for (const tree of trees) {
    voteOf(model, tree, tree.outputs(inputs)).forEach((vote, k) => (total[k] += vote));
  }
  return finish(model, divided(total, trees.length));
}

/** Return predictions from the mean of the votes. */
export function finish(model, mean) {
  if (model.finish === "exp") return mean.map(Math.exp);
  if (model.finish !== "sort") return mean;
  const sorted = [...mean].sort((a, b) => a - b);
  return model.places.map((place) => sorted[place]);
}

/** Return the position of the largest number, the first one if there are several. */
export const largest = (numbers) => numbers.reduce((best, x, k) => (x > numbers[best] ? k : best), 0);

/** Return the sign with which each output counts for what is explained. */
export function directions(model, votes, wanted) {
  const signs = votes.map(() => 0);
  if (wanted !== null) signs[wanted] = 1;
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
