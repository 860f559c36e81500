// Trees before and after their training: the rule that the core draws them by, their mean, linear leaves, signs of effects.
import { ACTIVATIONS, DEPTH, GROWTH } from "./recipe.js";

/**
 * Return the rule by which the core draws trees.
 *
 * `varies` says which inputs differ between the training rows; features without one are not drawn.
 */
export function growthRule(encoder, varies, k, nWeights, rampFraction = 0) {
  const { nInputs, drawn } = encoder, groups = Int32Array.from(encoder.groups, (j, i) => (drawn[i] ? j : -1));
  const nFeatures = 1 + groups.reduce((a, b) => Math.max(a, b), -1), isUseful = Array(nFeatures).fill(false);
  encoder.groups.forEach((j, i) => varies[i] && (isUseful[j] = true));
  const isThere = (j) => groups.includes(j), isAnyUseful = isUseful.some((useful, j) => useful && isThere(j));
  const chances = Float64Array.from({ length: nFeatures }, (_, j) => (isThere(j) && (isUseful[j] || !isAnyUseful) ? 1 : 0));
  const nRamps = new Int32Array(nInputs); // the inputs after a number that leaves are not drawn with
  for (let i = nInputs - 2; i >= 0; i--) if (!drawn[i + 1] && encoder.groups[i + 1] === encoder.groups[i]) nRamps[i] = nRamps[i + 1] + 1;
  const [inner, output] = [GROWTH.activation, GROWTH.output_activation].map((name) => ACTIVATIONS.indexOf(name));
  return {
    ...{ nInputs, k, groups: encoder.isPlain && !encoder.hasRamps ? null : groups, chances, nRamps, inner, output, rampFraction, initScale: GROWTH.init_scale },
    ...{ maxDepth: DEPTH.MAX_DEPTH, minChildren: GROWTH.min_children, maxChildren: GROWTH.max_children },
    nWeights: Math.max(nWeights, k * (1 + GROWTH.min_children)),
  };
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
