// What is drawn: for each item its line (sign, strength) and its label.
import { number, percent, shorten, signed } from "./format.js";

/** Return how strong each edge is: its weight times the spread of what it passes on. */
export function strengths(model, tree) {
  const strength = new Float64Array(tree.size + tree.nNodes);
  for (let i = tree.nOutputs; i < tree.size; i++) {
    const spread = tree.isLeaf(i) ? model.spreads[tree.inputOf(i)] : 1;
    strength[i] = Math.abs(tree.weight[i]) * spread;
  }
  return strength;
}

/** Return sign and emphasis (0 to 1) of each edge. */
export function edgeStyles(strength, sign) {
  const emphasis = new Float32Array(strength.length);
  const sorted = strength.filter((x) => x > 0).sort();
  // A few extreme weights must not make all other lines thin.
  const reference = sorted[Math.floor(0.98 * (sorted.length - 1))] || sorted[sorted.length - 1] || 1;
  strength.forEach((x, i) => (emphasis[i] = Math.sqrt(Math.min(1, x / reference))));
  return { emphasis, sign };
}

/** Return the text beside an item, as parts: [text, colour]; with an example, its values. */
export function labelOf(model, tree, item, values, sign, longest) {
  if (tree.isFold(item)) {
    const { count, share } = foldOf(tree, tree.parentOf(item));
    return [[`${count.toLocaleString("en")} more`, "faint"], values ? [signed(sign), sign < 0 ? "negative" : "positive"] : [shareText(share), "faint"]];
  }
  const weight = tree.weight[item], colour = (values ? sign : weight) < 0 ? "negative" : "positive";
  if (tree.isLeaf(item)) {
    const name = shortName(model, tree.inputOf(item), longest);
    return values ? [[name, "ink"], [`= ${number(values[item])}`, colour]] : [[signed(weight), colour], [name, "ink"]];
  }
  return values ? [[number(values[item]), "ink"], ["", "faint"]] : [[signed(weight), colour], [activationOf(tree, item), "faint"]];
}

/** Return the number of leaves that a fold stands for, and their share of the output. */
export function foldOf(tree, node) {
  const { folded, hidden, idle, strength } = tree.display;
  const hiddenStrength = tree.childrenOf(node).reduce((sum, i) => sum + (hidden[i] && !idle[i] ? strength[i] : 0), 0);
  return { count: folded[node], share: hiddenStrength / (strength[tree.output[node]] || 1) };
}

const shareText = (share) => (share < 0.001 ? "< 0.1 %" : percent(share));

/** Return the name of an input; the name of its column is cut before what follows it. */
function shortName(model, input, longest) {
  const name = model.inputs[input], column = model.columns[model.columnOf[input]].name;
  if (name.length <= longest || !name.startsWith(column)) return shorten(name, longest);
  const entry = name.slice(column.length);
  const start = shorten(column, Math.max(SHORTEST, longest - entry.length));
  return start + shorten(entry, Math.max(SHORTEST, longest - start.length));
}

/** Characters of each part of a name that are never cut. */
const SHORTEST = 8;

export function activationOf(tree, node) {
  const parameters = tree.parameters[node];
  return tree.activation[node] + (parameters.length ? `(${parameters.map(number).join(", ")})` : "");
}
