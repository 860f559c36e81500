// Importances of columns, and rows that stand for the training rows, as bneuralt.explaining makes them.
import { REFERENCES } from "./recipe.js";
import { meanInputs } from "./page_data.js";
import { nodesOf, slopeOf } from "./tree.js";

/** Add the contributions of columns to the outputs of a tree, by the rescale rule of explain. */
function addContributions(tree, inputs, baseline, start, groups, out) {
  const { parent, k, edge, leafParent, leafInput, leafWeight } = tree, { sums, values } = nodesOf(tree, inputs);
  const factors = new Float64Array(parent.length), output = new Int32Array(parent.length);
  for (let i = 0; i < parent.length; i++) {
    const difference = sums[i] - start.sums[i];
    const quotient = Math.abs(difference) > 1e-6 ? (values[i] - start.values[i]) / difference : slopeOf((sums[i] + start.sums[i]) / 2);
    factors[i] = i < k ? 1 : factors[parent[i]] * edge[i - k] * quotient;
    output[i] = i < k ? i : output[parent[i]];
  }
  leafInput.forEach((input, l) => {
    const node = leafParent[l];
    out[groups[input] * k + output[node]] += factors[node] * leafWeight[l] * (inputs[input] - baseline[input]);
  });
}

/** Return the inputs of up to 1,000 rows, row by row. */
function sampleOf(encoder, numbers, rows) {
  const { width, nInputs } = encoder, block = new Float64Array(Math.min(rows.length, REFERENCES.most_rows) * width);
  for (let i = 0; i < block.length / width; i++) block.set(numbers.subarray(rows[i] * width, (rows[i] + 1) * width), i * width);
  const inputs = encoder.inputs(block);
  return Array.from({ length: block.length / width }, (_, i) => inputs.subarray(i * nInputs, (i + 1) * nInputs));
}

/** Return the share of each column in the mean absolute contributions to the outputs of the trees. */
function importancesOf(encoder, trees, sample) {
  const baseline = meanInputs(encoder), starts = trees.map((tree) => nodesOf(tree, baseline)), { k } = trees[0];
  const shares = new Float64Array(encoder.names.length);
  for (const inputs of sample) {
    const parts = new Float64Array(shares.length * k);
    trees.forEach((tree, t) => addContributions(tree, inputs, baseline, starts[t], encoder.groups, parts));
    parts.forEach((x, i) => (shares[Math.floor(i / k)] += Math.abs(x)));
  }
  const total = shares.reduce((sum, x) => sum + x, 0);
  return Number.isFinite(total) ? Array.from(shares, (x) => x / (total || 1)) : null;
}

/** Return the importance of columns and rows that stand for the training rows in explanations. */
export function learnImportances(encoder, trees, numbers, rows) {
  const sample = sampleOf(encoder, numbers, rows), importances = importancesOf(encoder, trees, sample);
  return { importances, reference: importances && referenceRows(encoder, sample, importances) };
}

/** Return means of groups of similar training rows. */
function referenceRows(encoder, sample, importances) {
  const { most, most_numbers, fewest_rows, rounding } = REFERENCES, n = encoder.nInputs;
  const mean = (i, group) => group.reduce((sum, r) => sum + sample[r][i], 0) / group.length;
  const variance = (i, group) => {
    const average = mean(i, group);
    return group.reduce((sum, r) => sum + (sample[r][i] - average) ** 2, 0) / group.length;
  };
  const everything = sample.map((_, r) => r);
  const deviation = Array.from({ length: n }, (_, i) => Math.sqrt(variance(i, everything)));
  // ramps do not count: they follow from their column
  const size = deviation.map((d, i) => (d > 0 && encoder.drawn[i] ? importances[encoder.groups[i]] / d : 0));
  let groups = [everything];
  while (2 * groups.length <= Math.min(most, Math.floor(most_numbers / n)) && Math.min(...groups.map((g) => g.length)) >= 2 * fewest_rows) {
    groups = groups.flatMap((group) => {
      const varied = size.map((factor, i) => (factor > 0 ? variance(i, group) * factor ** 2 : 0));
      const widest = varied.indexOf(Math.max(...varied));
      const order = [...group].sort((a, b) => sample[a][widest] - sample[b][widest]);
      return [order.slice(0, order.length >> 1), order.slice(order.length >> 1)];
    });
  }
  return groups.map((group) =>
    deviation.map((d, i) => {
      const digits = Math.ceil(-Math.log10(d > 0 ? rounding * d : 1)), average = mean(i, group);
      return digits >= 0 && digits < 15 ? Number(average.toFixed(digits)) : average;
    }));
}
