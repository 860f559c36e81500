// Which items of a tree matter, and which of them are drawn when there is room for a few.

const NOTHING = 1e-6; // share of an output below which a leaf counts as doing nothing
const ENOUGH = 0.95; // share of the outputs that the leaves of a summary have together

/**
 * Return how much each item contributes to its output.
 *
 * For a leaf it is the mean of its absolute contributions to the outputs of the reference rows; if
 * there are none, the product of the weights on its path and the spread of its input. A node has
 * the sum of the leaves below it.
 */
export function contributionsOf(model, tree) {
  const strength = new Float64Array(tree.size);
  if (model.reference) {
    const typical = tree.forward(model.means);
    for (const row of model.reference) {
      const share = tree.contributions(tree.forward(row), typical);
      for (let i = tree.nNodes; i < tree.size; i++) strength[i] += Math.abs(share[i]) / model.reference.length;
    }
  } else {
    const gain = new Float64Array(tree.nNodes).fill(1);
    for (let i = tree.nOutputs; i < tree.nNodes; i++) gain[i] = gain[tree.parent[i]] * Math.abs(tree.weight[i]);
    for (let i = tree.nNodes; i < tree.size; i++) strength[i] = gain[tree.parentOf(i)] * Math.abs(tree.weight[i]) * model.spreads[tree.inputOf(i)];
  }
  for (let i = tree.size - 1; i >= tree.nOutputs; i--) strength[tree.parentOf(i)] += strength[i];
  return strength;
}

/** Return a flag for each item that does nothing: below a weight of 0, or hardly ever felt. */
export function idleItems(tree, strength) {
  const idle = new Uint8Array(tree.size);
  for (let i = tree.nOutputs; i < tree.size; i++) {
    const above = tree.parentOf(i);
    const output = tree.output[tree.isLeaf(i) ? above : i];
    idle[i] = idle[above] || tree.weight[i] === 0 || strength[i] <= NOTHING * strength[output] ? 1 : 0;
  }
  return idle;
}

/**
 * Return a flag for each item that a summary leaves out.
 *
 * For each output, the leaves that contribute most are drawn with all nodes above them, as many as
 * fit into `rows(output)` lines.
 */
export function leftOut(tree, strength, idle, rows) {
  const hidden = new Uint8Array(tree.size), leaves = Array.from({ length: tree.nOutputs }, () => []);
  for (let i = tree.nNodes; i < tree.size; i++) if (!idle[i]) leaves[tree.output[tree.parentOf(i)]].push(i);
  leaves.forEach((ofOutput, k) => {
    if (ofOutput.length <= rows(k)) return;
    ofOutput.sort((a, b) => strength[b] - strength[a]);
    let n = 0, reached = 0;
    while (n < rows(k) && reached < ENOUGH * strength[k]) reached += strength[ofOutput[n++]];
    while (n > 1 && nLines(tree, ofOutput.slice(0, n)) > rows(k)) n--;
    for (const leaf of ofOutput) for (let i = leaf; i >= tree.nOutputs; i = tree.parentOf(i)) hidden[i] = 1;
    for (const leaf of ofOutput.slice(0, n)) for (let i = leaf; i >= tree.nOutputs; i = tree.parentOf(i)) hidden[i] = 0;
  });
  return hidden;
}

/** Return about how many lines some leaves need: one for each, and one for the rest of each node above. */
function nLines(tree, leaves) {
  const nodes = new Set();
  for (const leaf of leaves) for (let i = tree.parentOf(leaf); i >= 0 && !nodes.has(i); i = tree.parentOf(i)) nodes.add(i);
  const taken = new Set([...leaves, ...nodes]);
  let folds = 0;
  for (const node of nodes) folds += tree.childrenOf(node).every((i) => taken.has(i)) ? 0 : 1;
  return leaves.length + folds;
}

/** Return the number of leaves that are left out directly or further below each node. */
export function countFolded(tree, hidden, idle) {
  const count = new Int32Array(tree.nNodes), leaves = new Int32Array(tree.size);
  for (let i = tree.size - 1; i >= tree.nOutputs; i--) {
    if (idle[i]) continue;
    if (tree.isLeaf(i)) leaves[i] = 1;
    leaves[tree.parentOf(i)] += leaves[i];
    if (hidden[i]) count[tree.parentOf(i)] += leaves[i];
  }
  return count;
}
