// One tree: its arrays, the forward pass, and which paths carried an output.
// Items are numbered: function nodes first, breadth-first, then leaves, then folds: `fold(node)`
// stands for the items below a node that a summary leaves out.
// Leaves of one node with the same input are one leaf with the sum of their weights.

const SMALL = 1e-9;

export class Tree {
  /** `data` is a tree as model files have it; `model` has the inputs that are used. */
  constructor(data, model) {
    this.data = data;
    this.nOutputs = data.n_outputs;
    this.parent = Int32Array.from(data.parent);
    this.nNodes = this.parent.length;
    this.round = data.dtype === "float32" ? Math.fround : (x) => x;
    // The weights as in the file: what edits change.
    this.stored = Object.fromEntries(["bias", "edge", "leaf_weight"].map((name) => [name, Float64Array.from(data[name], this.round)]));
    this.mergeLeaves(data, model);
    this.weight = new Float64Array(this.size); // of the edge above each item; outputs have none
    this.readWeights();
    this.activation = namesOf(data.output_activation, this.nOutputs).concat(namesOf(data.activation, this.nNodes - this.nOutputs));
    let at = 0;
    this.parameters = this.activation.map((name) => data.activation_parameters.slice(at, (at += model.activations[name].parameters.length)));
    this.functions = this.activation.map((name, i) => model.activations[name].bind(this.parameters[i]));
    this.childStart = starts(this.parent, this.nNodes, this.nOutputs);
    this.leafStart = starts(this.leafParent, this.nNodes, 0);
    this.level = new Int32Array(this.nNodes);
    this.output = new Int32Array(this.nNodes);
    for (let i = 0; i < this.nNodes; i++) {
      this.level[i] = i < this.nOutputs ? 0 : this.level[this.parent[i]] + 1;
      this.output[i] = i < this.nOutputs ? i : this.output[this.parent[i]];
    }
  }

  /** Number the leaves by node and input; `storedLeaves` has the positions in the file of each. */
  mergeLeaves(data, model) {
    const place = new Map(model.used.map((input, i) => [input, i])), n = model.used.length;
    const keys = data.leaf_parent.map((node, i) => node * n + place.get(data.leaf_input[i]));
    const distinct = [...new Set(keys)].sort((a, b) => a - b);
    const item = new Map(distinct.map((key, i) => [key, i]));
    this.nLeaves = distinct.length;
    this.leafParent = Int32Array.from(distinct, (key) => Math.floor(key / n));
    this.leafInput = Int32Array.from(distinct, (key) => key % n);
    this.leafOf = Int32Array.from(keys, (key) => item.get(key));
  }

  /** Read the weights of all items from those of the file. */
  readWeights() {
    const { weight, stored, nNodes, leafOf } = this;
    this.bias = stored.bias;
    weight.fill(0, nNodes);
    weight.set(stored.edge, this.nOutputs);
    stored.leaf_weight.forEach((w, i) => (weight[nNodes + leafOf[i]] += w));
  }

  /** Return where the weight above an item is stored: name of the list, and positions. */
  placesOf(item) {
    if (!this.isLeaf(item)) return ["edge", [item - this.nOutputs]];
    const leaf = item - this.nNodes, at = [];
    this.leafOf.forEach((of, i) => of === leaf && at.push(i));
    return ["leaf_weight", at];
  }

  fold(node) {
    return this.size + node;
  }

  isFold(item) {
    return item >= this.size;
  }

  get size() {
    return this.nNodes + this.nLeaves;
  }

  isLeaf(item) {
    return item >= this.nNodes;
  }

  parentOf(item) {
    if (this.isFold(item)) return item - this.size;
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

  /** Return the leaves of some inputs, and the nodes above them, lowest first. */
  readersOf(inputs) {
    const wanted = new Set(inputs), leaves = [], nodes = new Set();
    for (let i = 0; i < this.nLeaves; i++) {
      if (!wanted.has(this.leafInput[i])) continue;
      leaves.push(this.nNodes + i);
      for (let node = this.leafParent[i]; node >= 0 && !nodes.has(node); node = this.parent[node]) nodes.add(node);
    }
    return { leaves, nodes: Int32Array.from(nodes).sort().reverse() };
  }

  /** Return the outputs after inputs have changed, of which `readers` tells who reads them. */
  outputsWith(run, { leaves, nodes }, inputs) {
    const { weight, parent, nOutputs } = this, sum = (this.sums ??= new Float64Array(this.nNodes));
    const outputs = Array.from(run.value.subarray(0, nOutputs));
    for (const node of nodes) sum[node] = run.sum[node];
    for (const leaf of leaves) sum[this.parentOf(leaf)] += weight[leaf] * (inputs[this.inputOf(leaf)] - run.value[leaf]);
    for (const node of nodes) {
      const value = this.functions[node](sum[node]);
      if (node < nOutputs) outputs[node] = value;
      else sum[parent[node]] += weight[node] * (value - run.value[node]);
    }
    return outputs;
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

const namesOf = (names, n) => (Array.isArray(names) ? names : Array(n).fill(names));

/** Return where the children of each node start; `parents` is sorted. */
function starts(parents, nNodes, skip) {
  const start = new Int32Array(nNodes + 1).fill(parents.length);
  let node = 0;
  for (let i = skip; i < parents.length; i++) while (node <= parents[i]) start[node++] = i;
  return start;
}
