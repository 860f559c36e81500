// Random trees: what cpp/growth.cpp does with a number of weights, and signs of effects.
import { ACTIVATIONS, DEPTH, GROWTH } from "./recipe.js";

// kEnoughWeights and kGroupTries of cpp/growth.cpp
const SUFFICIENT_WEIGHTS = 0.97, GROUP_TRIES = 16;

/** Grow a structure of nodes and leaves; all outputs get the same share of the weights. */
function growTo(random, k, nWeights, maxDepth) {
  const low = GROWTH.min_children, high = Math.min(GROWTH.max_children, Math.floor(nWeights / k) - 1);
  const top = k === 1 ? 0 : 1;
  const parent = Array(k).fill(-1), depth = Array(k).fill(top);
  const leaves = Array.from({ length: k }, () => []), tooDeep = [], weights = Array(k).fill(0);
  let total = 0;
  const attach = (output, node, nodeDepth, n) => {
    const place = nodeDepth < maxDepth ? leaves[output] : tooDeep;
    for (let i = 0; i < n; i++) place.push(node);
    weights[output] += 1 + n;
    total += 1 + n;
  };
  for (let output = 0; output < k; output++) attach(output, output, top, random.whole(low, high));
  const growing = new Set(weights.keys());
  while (growing.size && total + 1 + low <= nWeights) {
    let output = -1;
    for (const o of growing) if (output < 0 || weights[o] < weights[output]) output = o;
    const free = leaves[output];
    if (!free.length) {
      growing.delete(output);
      continue;
    }
    const i = random.whole(0, free.length - 1), above = free[i];
    free[i] = free.at(-1);
    free.pop();
    const n = Math.min(random.whole(low, high), nWeights - total - 1);
    parent.push(above);
    depth.push(depth[above] + 1);
    attach(output, parent.length - 1, depth.at(-1), n);
  }
  if (total + 1 + low <= nWeights && total < SUFFICIENT_WEIGHTS * nWeights) return growTo(random, k, nWeights, maxDepth + 1);
  return numbered(parent, [...leaves.flat(), ...tooDeep], k);
}

/** Number nodes breadth-first, so that the children of a node are neighbours. */
function numbered(parent, leafParent, k) {
  const children = parent.map(() => []);
  parent.forEach((above, i) => above >= 0 && children[above].push(i));
  const order = [...Array(k).keys()];
  for (let i = 0; i < order.length; i++) order.push(...children[order[i]]);
  const place = Int32Array.from(parent);
  order.forEach((node, i) => (place[node] = i));
  return {
    parent: Int32Array.from(order, (node) => (parent[node] < 0 ? -1 : place[parent[node]])),
    leafParent: Int32Array.from(leafParent, (node) => place[node]).sort(),
  };
}

/**
 * Return a random tree: parent, activation, leafParent, leafInput, and theta (biases, edges, leaves).
 *
 * `varies` says which inputs differ between the training rows; features without one are not drawn.
 */
export function drawTree(random, encoder, varies, k, nWeights, rampShare = 0) {
  const inputs = encoder.features.map(() => []); // those that leaves are drawn with, of each feature
  const isUseful = encoder.features.map(() => false);
  encoder.groups.forEach((j, i) => {
    if (encoder.drawn[i]) inputs[j].push(i);
    if (varies[i]) isUseful[j] = true;
  });
  const chance = (j) => (inputs[j].length && (isUseful[j] || !isUseful.includes(true)) ? 1 : 0);
  let total = 0;
  const totals = inputs.map((_, j) => (total += chance(j)));
  const least = k * (1 + GROWTH.min_children);
  nWeights = Math.max(nWeights, least);
  let nGrown = nWeights, best = null;
  for (let attempt = 0; attempt < GROUP_TRIES; attempt++) {
    const grown = growTo(random, k, nGrown, DEPTH.MAX_DEPTH);
    grown.features = Array.from(grown.leafParent, () => random.place(totals));
    grown.total = 2 * grown.parent.length - k + grown.features.reduce((sum, j) => sum + inputs[j].length, 0);
    const isBetter = !best || (best.total < grown.total && grown.total <= nWeights) || (nWeights < best.total && grown.total < best.total);
    if (isBetter) best = grown;
    if (SUFFICIENT_WEIGHTS * nWeights <= best.total && best.total <= nWeights) break;
    nGrown = Math.max(least, Math.min(nWeights, Math.trunc((nGrown * nWeights) / grown.total)));
  }
  return withWeights(random, best, inputs, encoder, k, rampShare);
}

function withWeights(random, { parent, leafParent, features }, inputs, encoder, k, rampShare) {
  const nChildren = new Float64Array(parent.length);
  parent.forEach((above) => above >= 0 && nChildren[above]++);
  leafParent.forEach((above) => nChildren[above]++);
  const spread = (node) => GROWTH.init_scale / Math.sqrt(nChildren[node]);
  const edges = Array.from(parent.subarray(k), (above) => random.normal() * spread(above));
  const leaves = { parent: [], input: [], weight: [] };
  leafParent.forEach((above, l) => {
    const ofFeature = inputs[features[l]];
    for (const input of ofFeature) {
      leaves.parent.push(above);
      leaves.input.push(onRamp(random, encoder, input, rampShare));
      leaves.weight.push((random.normal() * spread(above)) / Math.sqrt(ofFeature.length));
    }
  });
  const [inner, top] = [GROWTH.activation, GROWTH.output_activation].map((name) => ACTIVATIONS.indexOf(name));
  return {
    k,
    nInputs: encoder.nInputs,
    parent,
    activation: Uint8Array.from(parent, (_, i) => (i < k ? top : inner)),
    leafParent: Int32Array.from(leaves.parent),
    leafInput: Int32Array.from(leaves.input),
    theta: Float32Array.from([...Array(parent.length).fill(0), ...edges, ...leaves.weight]),
  };
}

/** Return the input, or for a share of the numbers one of their ramps. */
function onRamp(random, encoder, input, share) {
  if (!share || encoder.drawn[input + 1] !== false || random.number() >= share) return input;
  let end = input + 1;
  while (encoder.drawn[end] === false && encoder.groups[end] === encoder.groups[input]) end++;
  return random.whole(input + 1, end - 1);
}

/** Return the mean of trees with linear outputs as a tree, whose outputs have the branches of all. */
export function meanTree(trees) {
  if (trees.length === 1) return trees[0];
  const [{ k, nInputs }] = trees, share = 1 / trees.length, nodes = Array.from({ length: k }, (_, i) => ({ children: [], activation: trees[0].activation[i], bias: 0 }));
  const leaves = [];
  for (const { parent, activation, leafParent, leafInput, theta } of trees) {
    const n = parent.length, factor = (above) => (above < k ? share : 1), own = nodes.slice(0, k);
    for (let i = 0; i < n; i++) {
      if (i < k) own[i].bias += share * theta[i];
      else {
        own.push({ children: [], above: own[parent[i]], activation: activation[i], bias: theta[i], edge: factor(parent[i]) * theta[n + i - k] });
        own[parent[i]].children.push(own[i]);
      }
    }
    leafParent.forEach((above, l) => leaves.push({ above: own[above], input: leafInput[l], weight: factor(above) * theta[2 * n - k + l] }));
  }
  for (let i = 0; i < nodes.length; i++) nodes.push(...nodes[i].children); // breadth-first
  nodes.forEach((node, i) => (node.place = i));
  leaves.sort((a, b) => a.above.place - b.above.place);
  return {
    k,
    nInputs,
    parent: Int32Array.from(nodes, ({ above }) => above?.place ?? -1),
    activation: Uint8Array.from(nodes, ({ activation }) => activation),
    leafParent: Int32Array.from(leaves, ({ above }) => above.place),
    leafInput: Int32Array.from(leaves, ({ input }) => input),
    theta: Float32Array.from([...nodes.map(({ bias }) => bias), ...nodes.slice(k).map(({ edge }) => edge), ...leaves.map(({ weight }) => weight)]),
  };
}

/** Return a tree that has a share of a linear part as leaves under its outputs. */
export function withOutputLeaves(tree, { inputs, weight, bias }, share) {
  const { parent, leafParent, leafInput, theta, k } = tree, n = parent.length, leaves = [];
  leafParent.forEach((above, l) => leaves.push({ above, input: leafInput[l], weight: theta[2 * n - k + l] }));
  weight.forEach((line, above) => line.forEach((w, i) => w && leaves.push({ above, input: inputs[i], weight: share * w })));
  leaves.sort((a, b) => a.above - b.above);
  const biases = Array.from(theta.subarray(0, n), (b, i) => (i < k ? b + share * bias[i] : b));
  return {
    ...tree,
    leafParent: Int32Array.from(leaves, ({ above }) => above),
    leafInput: Int32Array.from(leaves, ({ input }) => input),
    theta: Float32Array.from([...biases, ...theta.subarray(n, 2 * n - k), ...leaves.map((leaf) => leaf.weight)]),
  };
}

/** Return the tree of a linear model: each output adds the inputs that trees are drawn with. */
export function linearTree(encoder, varies, k) {
  const inputs = encoder.drawn.map((drawn, i) => (drawn && varies[i] ? i : -1)).filter((i) => i >= 0);
  const used = inputs.length ? inputs : [0];
  return {
    k,
    nInputs: encoder.nInputs,
    parent: new Int32Array(k).fill(-1),
    activation: new Uint8Array(k).fill(ACTIVATIONS.indexOf("linear")),
    leafParent: Int32Array.from({ length: k * used.length }, (_, i) => Math.floor(i / used.length)),
    leafInput: Int32Array.from({ length: k * used.length }, (_, i) => used[i % used.length]),
    theta: new Float32Array(k + k * used.length),
  };
}

/** Return the signs that nodes must keep, and make the weights of leaves fit them. */
export function constrain(tree, inputSigns, outputSigns) {
  const { parent, k, theta, leafParent, leafInput } = tree, n = parent.length;
  const node = Int8Array.from(parent, (_, i) => (i < k ? outputSigns[i] : theta[n + i - k] < 0 ? -1 : 1));
  const path = new Int8Array(n);
  for (let i = 0; i < n; i++) path[i] = node[i] * (i < k ? 1 : path[parent[i]]);
  leafParent.forEach((above, l) => {
    const sign = path[above] * inputSigns[leafInput[l]], at = 2 * n - k + l;
    if (sign) theta[at] = sign * Math.abs(theta[at]);
  });
  return { node, input: inputSigns };
}
