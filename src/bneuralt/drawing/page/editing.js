// Edits of a model: each one changes numbers of its file, is logged, and can be undone.
import { number, signed } from "./format.js";

/** The log: `docs/format.md` describes its entries. */
export class Editor {
  constructor(model, trees) {
    this.model = model;
    this.trees = trees;
    this.log = [...(model.file.edits ?? [])];
    const { constraints, file } = model;
    this.constraints = constraints.length ? [...constraints] : Array(file.n_features).fill(0);
  }

  /** Set the weight above an item of a tree; the leaves that are drawn as one count as the first of them. */
  setWeight(t, item, value) {
    const tree = this.trees[t], [list, places] = tree.placesOf(item);
    const changes = places.map((at, n) => change(tree, t, list, at, n ? 0 : value));
    this.apply("weight", `weight above ${this.nameOf(tree, item)}: ${number(tree.weight[item])} to ${number(value)}`, changes);
  }

  setBias(t, node, value) {
    const tree = this.trees[t];
    this.apply("weight", `bias of ${this.nameOf(tree, node)}: ${number(tree.bias[node])} to ${number(value)}`, [change(tree, t, "bias", node, value)]);
  }

  /** Cut what is above an item; the bias gets the mean of what it added for typical rows. */
  cut(t, item) {
    const tree = this.trees[t], [list, places] = tree.placesOf(item), above = tree.parentOf(item);
    const mean = meanValue(this.model, tree, item), { bias } = tree.stored;
    const changes = places.map((at) => change(tree, t, list, at, 0));
    changes.push(change(tree, t, "bias", above, bias[above] + tree.weight[item] * mean));
    this.apply("cut", `cut ${this.nameOf(tree, item)}, weight ${number(tree.weight[item])}; bias above ${signed(tree.weight[item] * mean)}`, changes);
  }

  /** Let numbers of a column beyond two ends count as the nearer one; null: no limits. */
  limit(j, ends) {
    const column = this.model.columns[j], before = column.bounds ?? null;
    if (column.reads !== "number") throw new Error(`“${column.name}” has no numbers that could be limited.`);
    if (ends && !(Number.isFinite(ends[0]) && Number.isFinite(ends[1]) && ends[0] < ends[1])) throw new Error(`The limits of “${column.name}” must be two numbers, the smaller one first.`);
    const text = `“${column.name}” limited to ${ends ? ends.map(number).join(" to ") : "nothing"}`;
    this.apply("limit", text, [], { column: this.model.positions[j], before, after: ends });
  }

  /** Force the sign of the effect of a column: weights of leaves on paths of another sign become 0. */
  force(j, sign) {
    const { model } = this, column = model.columns[j], at = model.positions[j];
    if (sign && !model.output_signs) throw new Error("An effect has a sign if one number is predicted, or one of two classes.");
    if (sign && (column.reads !== "number" || !column.directions.some(Boolean))) throw new Error(`“${column.name}” has no numbers: its effect has no sign.`);
    const changes = [];
    if (sign) {
      this.trees.forEach((tree, t) => {
        const shift = new Map();
        for (const [i, effect] of this.effectsOf(t, j)) {
          if (effect === 0 || effect === sign) continue;
          const above = tree.data.leaf_parent[i], place = tree.leafInput[tree.leafOf[i]], weight = tree.stored.leaf_weight[i];
          changes.push(change(tree, t, "leaf_weight", i, 0));
          shift.set(above, (shift.get(above) ?? 0) + weight * model.means[place]);
        }
        for (const [node, by] of shift) changes.push(change(tree, t, "bias", node, tree.stored.bias[node] + by));
      });
    }
    const what = model.outputs.length === 2 ? `the probability of “${model.outputs[1]}”` : "the prediction";
    const text = sign ? `${what} never ${sign > 0 ? "falls" : "rises"} as “${column.name}” rises: ${changes.length} weights changed` : `the effect of “${column.name}” may have any sign`;
    this.apply("sign", text, changes, { column: at, before: this.constraints[at], after: sign });
  }

  /** Yield the stored leaves of a column with the sign of their effect: 1, -1, 0, or null if it is not known. */
  *effectsOf(t, j) {
    const { model } = this, tree = this.trees[t], column = model.columns[j];
    const falls = new Set(model.may_decrease[t]);
    const sign = new Float64Array(tree.nNodes), isKnown = new Uint8Array(tree.nNodes);
    for (let i = 0; i < tree.nNodes; i++) {
      const isOutput = i < tree.nOutputs;
      sign[i] = isOutput ? model.output_signs[i] : sign[tree.parent[i]] * Math.sign(tree.weight[i]);
      isKnown[i] = !falls.has(i) && (isOutput || isKnown[tree.parent[i]]) ? 1 : 0;
    }
    const along = new Map(column.inputs.map((input, i) => [input, column.directions[i]]));
    for (let i = 0; i < tree.leafOf.length; i++) {
      const input = tree.leafInput[tree.leafOf[i]], above = tree.data.leaf_parent[i];
      if (!along.get(input)) continue; // of another column, or where its gaps are
      const effect = sign[above] * Math.sign(tree.stored.leaf_weight[i]) * along.get(input);
      yield [i, effect === 0 || isKnown[above] ? effect : null];
    }
  }

  /** Make an edit; throws an error, and changes nothing, if the model would not be valid. */
  apply(edit, text, changes, { column = null, before = null, after = null } = {}) {
    const different = changes.filter(([, , , old, now]) => old !== now);
    if (!different.length && JSON.stringify(before) === JSON.stringify(after)) throw new Error("This changes nothing.");
    const bad = different.find(([, , , , now]) => !Number.isFinite(now));
    if (bad) throw new Error("A weight must be a finite number.");
    const entry = { edit, time: new Date().toISOString(), text, changes: different, column, before, after };
    this.set(entry, true);
    const problem = this.problem();
    if (problem) {
      this.set(entry, false);
      throw new Error(problem);
    }
    this.log.push(entry);
  }

  undo() {
    const entry = this.log.pop();
    if (entry) this.set(entry, false);
  }

  /** Set the numbers after an edit, or those before it. */
  set({ edit, changes, column, before, after }, isDone) {
    const value = isDone ? after : before;
    for (const [t, list, at, old, now] of changes) this.trees[t].stored[list][at] = isDone ? now : old;
    for (const t of new Set(changes.map(([t]) => t))) this.trees[t].readWeights();
    if (edit === "limit") this.model.columns[this.model.positions.indexOf(column)].bounds = value;
    if (edit === "sign") this.constraints[column] = value;
  }

  /** Return why the model is not valid; nothing if it is. */
  problem() {
    const { model, trees } = this;
    const rows = [...(model.reference ?? []), model.means];
    if (!rows.every((row) => trees.every((tree) => tree.outputs(row).every((x) => Number.isFinite(tree.round(x)))))) return "This weight is too large: predictions would not be finite.";
    for (const [j, column] of model.columns.entries()) {
      const sign = this.constraints[model.positions[j]];
      if (!sign) continue;
      const breaks = trees.some((_, t) => [...this.effectsOf(t, j)].some(([, effect]) => effect !== 0 && effect !== sign));
      if (breaks) return `This would break the constraint that the prediction never ${sign > 0 ? "falls" : "rises"} as “${column.name}” rises.`;
    }
    return "";
  }

  nameOf(tree, item) {
    const where = this.trees.length > 1 ? ` in tree ${this.trees.indexOf(tree) + 1}` : "";
    if (tree.isLeaf(item)) return `“${this.model.inputs[tree.inputOf(item)]}” of node ${tree.parentOf(item)}${where}`;
    return (item < tree.nOutputs ? `“${this.model.outputs[item]}”` : `node ${item}`) + where;
  }

  /** Return the file of the edited model. */
  fileText() {
    const { model, trees, log } = this, { file } = model;
    const settings = this.constraints.some(Boolean) || file.settings.monotonic_cst ? { ...file.settings, monotonic_cst: this.constraints } : file.settings;
    const content = {
      ...file,
      settings,
      constraints: this.constraints.some(Boolean) ? this.constraints : null,
      encoder: file.encoder.map((entry, at) => withBounds(entry, model.columns[model.positions.indexOf(at)]?.bounds)),
      trees: file.trees.map((entry, t) => ({ ...entry, tree: { ...trees[t].data, ...storedLists(trees[t]) } })),
      history: trees.length === 1 ? model.history?.[0] ?? null : null,
      reference: model.allReference,
      edits: log,
    };
    return `{\n${Object.entries(content).map(([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value)}`).join(",\n")}\n}\n`;
  }
}

const change = (tree, t, list, at, value) => [t, list, at, tree.stored[list][at], tree.round(value)];

const storedLists = (tree) => Object.fromEntries(Object.entries(tree.stored).map(([name, list]) => [name, Array.from(list)]));

/** Return the entry of a column with bounds; an entry may be a mean alone. */
function withBounds(entry, bounds) {
  const isObject = entry !== null && typeof entry === "object";
  if (!bounds) {
    if (!isObject || !entry.bounds) return entry;
    const { bounds: _, ...rest } = entry;
    return rest;
  }
  return { ...(isObject ? entry : { kind: "number", mean: entry, has_gaps: false }), bounds };
}

/** Return the mean of the value of an item over typical rows. */
function meanValue(model, tree, item) {
  const rows = model.reference ?? [model.means];
  return rows.reduce((sum, row) => sum + tree.forward(row).value[item], 0) / rows.length;
}
