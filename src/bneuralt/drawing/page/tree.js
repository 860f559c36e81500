// One tree: its arrays, the forward pass, and which paths carried an output.
// Items are numbered: function nodes first, breadth-first, then leaves.

const SMALL = 1e-9;

export class Tree {
  constructor(data, model) {
    const nOutputs = model.outputs.length;
    this.nOutputs = nOutputs;
    this.nWeights = data.n_weights;
    this.parent = Int32Array.from(data.parent);
    this.nNodes = this.parent.length;
    this.bias = Float64Array.from(data.bias);
    this.leafParent = Int32Array.from(data.leaf_parent);
    this.leafInput = Int32Array.from(data.leaf_input);
    this.leafTimes = data.leaf_times;
    this.nLeaves = this.leafParent.length;
    // The weight of the edge above each item; outputs have none.
    this.weight = new Float64Array(this.nNodes + this.nLeaves);
    this.weight.set(data.edge, nOutputs);
    this.weight.set(data.leaf_weight, this.nNodes);
    const activations = data.activation.map((code) => model.activations[code]);
    this.activation = activations.map(({ name }) => name);
    this.parameters = data.activation_parameters ?? activations.map(() => []);
    this.functions = activations.map(({ value }, i) => (z) => value([z, ...this.parameters[i]]));
    this.childStart = starts(this.parent, this.nNodes, nOutputs);
    this.leafStart = starts(this.leafParent, this.nNodes, 0);
    this.level = new Int32Array(this.nNodes);
    this.output = new Int32Array(this.nNodes);
    for (let i = 0; i < this.nNodes; i++) {
      this.level[i] = i < nOutputs ? 0 : this.level[this.parent[i]] + 1;
      this.output[i] = i < nOutputs ? i : this.output[this.parent[i]];
    }
  }

  get size() {
    return this.nNodes + this.nLeaves;
  }

  isLeaf(item) {
    return item >= this.nNodes;
  }

  parentOf(item) {
    return this.isLeaf(item) ? this.leafParent[item - this.nNodes] : this.parent[item];
  }

  inputOf(item) {
    return this.leafInput[item - this.nNodes];
  }

  childrenOf(node) {
    if (this.isLeaf(node)) return [];
    const items = [];
    for (let i = this.childStart[node]; i < this.childStart[node + 1]; i++) items.push(i);
    for (let i = this.leafStart[node]; i < this.leafStart[node + 1]; i++) items.push(this.nNodes + i);
    return items;
  }

  /** Return the weighted sum of each function node and the value of each item. */
  forward(inputs) {
    const { nNodes, weight, parent, nOutputs } = this;
    const sum = Float64Array.from(this.bias), value = new Float64Array(this.size);
    for (let i = 0; i < this.nLeaves; i++) {
      value[nNodes + i] = inputs[this.leafInput[i]];
      sum[this.leafParent[i]] += weight[nNodes + i] * value[nNodes + i];
    }
    for (let i = nNodes - 1; i >= 0; i--) {
      value[i] = this.functions[i](sum[i]);
      if (i >= nOutputs) sum[parent[i]] += weight[i] * value[i];
    }
    return { sum, value };
  }

  outputs(inputs) {
    return Array.from(this.forward(inputs).value.subarray(0, this.nOutputs));
  }

  /**
   * Return what each item contributes to its output, compared with a typical example.
   *
   * A node passes on a change of its sum in the proportion (change of value) / (change of sum), so
   * the contributions of all leaves add up to the change of the output.
   */
  contributions(now, typical) {
    const { nNodes, nOutputs, weight, parent } = this;
    const gain = new Float64Array(nNodes), share = new Float64Array(this.size);
    for (let i = 0; i < nNodes; i++) {
      const above = i < nOutputs ? 1 : gain[parent[i]] * weight[i];
      const change = now.value[i] - typical.value[i];
      share[i] = above * change;
      gain[i] = above * this.slope(i, now.sum[i], now.sum[i] - typical.sum[i], change);
    }
    for (let i = 0; i < this.nLeaves; i++) {
      const item = nNodes + i;
      share[item] = gain[this.leafParent[i]] * weight[item] * (now.value[item] - typical.value[item]);
    }
    return share;
  }

  slope(node, sum, changeOfSum, changeOfValue) {
    if (Math.abs(changeOfSum) > SMALL * (1 + Math.abs(sum))) return changeOfValue / changeOfSum;
    const phi = this.functions[node], step = 1e-5 * (1 + Math.abs(sum));
    return (phi(sum + step) - phi(sum - step)) / (2 * step);
  }
}

/** Return where the children of each node start; `parents` is sorted. */
function starts(parents, nNodes, skip) {
  const start = new Int32Array(nNodes + 1).fill(parents.length);
  let node = 0;
  for (let i = skip; i < parents.length; i++) while (node <= parents[i]) start[node++] = i;
  return start;
}
