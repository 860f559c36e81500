// Removal of leaves and branches that contribute nothing, as bneuralt.shrinking.idle does it.
import { IDLE } from "./recipe.js";
import { valueOf, weightsOf } from "./tree.js";

/** Return a tree without idle leaves and branches; `ends` are the ends of its inputs, low and high. */
export function withoutIdleBranches(tree, ends) {
  const { parent, k, leafParent, leafInput } = tree, n = parent.length, { bias, edge, leafWeight } = weightsOf(tree);
  const sums = [Float64Array.from(bias), Float64Array.from(bias)], above = [...parent.subarray(k), ...leafParent];
  const bounds = Array(above.length); // of the contribution of each edge and leaf to its node
  const add = (at, weight, [low, high]) => {
    bounds[at] = weight < 0 ? [weight * high, weight * low] : [weight * low, weight * high];
    sums.forEach((sum, end) => (sum[above[at]] += bounds[at][end]));
  };
  leafInput.forEach((input, l) => add(n - k + l, leafWeight[l], [ends.low[input], ends.high[input]]));
  for (let i = n - 1; i >= k; i--) add(i - k, edge[i - k], [valueOf(sums[0][i]), valueOf(sums[1][i])]);
  const spans = new Float64Array(n), weights = Float64Array.from([...edge, ...leafWeight]), biases = Float64Array.from(bias);
  bounds.forEach(([low, high], at) => (spans[above[at]] += high - low));
  const idle = bounds.flatMap(([low, high], at) => (high - low <= IDLE.TOLERANCE * spans[above[at]] && Number.isFinite(spans[above[at]]) ? [at] : []));
  for (const at of idle) {
    biases[above[at]] += (bounds[at][0] + bounds[at][1]) / 2;
    weights[at] = 0;
  }
  return idle.length ? simplified(tree, biases, weights) : tree;
}

/** Return a tree without weights of 0 and without nodes that have no input; leaves of one input are merged. */
function simplified(tree, bias, weights) {
  const { parent, k, leafParent, leafInput } = tree, n = parent.length;
  const leaves = Array.from(parent, () => new Map()), children = Array.from(parent, () => []);
  leafInput.forEach((input, l) => leaves[leafParent[l]].set(input, (leaves[leafParent[l]].get(input) ?? 0) + weights[n - k + l]));
  for (let i = n - 1; i >= 0; i--) {
    for (const [input, weight] of leaves[i]) if (weight === 0) leaves[i].delete(input);
    if (i < k) continue;
    if (leaves[i].size || children[i].length) weights[i - k] && children[parent[i]].unshift(i);
    else bias[parent[i]] += weights[i - k] * valueOf(bias[i]);
  }
  const output = Int32Array.from(parent);
  for (let i = 0; i < n; i++) output[i] = i < k ? i : output[parent[i]];
  for (let i = 0; i < k; i++) { // every node has a child
    if (!leaves[i].size && !children[i].length) leaves[i].set(leafInput[leafParent.findIndex((node) => output[node] === i)], 0);
  }
  const order = [...Array(k).keys()], place = new Int32Array(n);
  for (let p = 0; p < order.length; p++) {
    place[order[p]] = p;
    order.push(...children[order[p]]);
  }
  const kept = order.flatMap((i, p) => [...leaves[i]].map(([input, weight]) => ({ p, input, weight })));
  const theta = Float32Array.from([...order.map((i) => bias[i]), ...order.slice(k).map((i) => weights[i - k]), ...kept.map(({ weight }) => weight)]);
  if (theta.length >= tree.theta.length) return tree;
  return {
    ...tree,
    parent: Int32Array.from(order, (i) => (i < k ? -1 : place[parent[i]])),
    activation: Uint8Array.from(order, (i) => tree.activation[i]),
    leafParent: Int32Array.from(kept, ({ p }) => p),
    leafInput: Int32Array.from(kept, ({ input }) => input),
    theta,
  };
}
