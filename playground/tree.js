// One pass through a tree, in the worker and on the page: outputs are linear, other nodes have tanh.

/** Return the value of a node that is no output, from its weighted sum. */
export const valueOf = (sum) => Math.tanh(sum);

/** Return the slope of this value. */
export const slopeOf = (sum) => 1 - Math.tanh(sum) ** 2;

/** Return biases, weights of edges and weights of leaves, which theta has one after the other. */
export function weightsOf({ parent, k, theta }) {
  const n = parent.length;
  return { bias: theta.subarray(0, n), edge: theta.subarray(n, 2 * n - k), leafWeight: theta.subarray(2 * n - k) };
}

/** Return sums and values of the nodes of a tree for a row of inputs. */
export function nodesOf({ parent, k, bias, edge, leafParent, leafInput, leafWeight }, inputs) {
  const sums = Float64Array.from(bias), values = new Float64Array(parent.length);
  leafInput.forEach((input, l) => (sums[leafParent[l]] += leafWeight[l] * inputs[input]));
  for (let i = parent.length - 1; i >= k; i--) {
    values[i] = valueOf(sums[i]);
    sums[parent[i]] += edge[i - k] * values[i];
  }
  values.set(sums.subarray(0, k));
  return { sums, values };
}
