// The panels beside the drawing: prediction, reasons, trees and the selected node.
import { nodeEdits } from "./edit_panel.js";
import { element } from "./elements.js";
import { number, percent, plural, shorten, signed } from "./format.js";
import { largest, predictionOf } from "./prediction.js";
import { activationOf, foldOf } from "./scene.js";

const MOST_BARS = 10, FEW_BARS = 3, MOST_REASONS = 8, MOST_TERMS = 60, MOST_PAIRS = 5;

const exact = (value, text) => element("data", { value: String(value) }, text);

/** Show what the model predicts. */
export function showPrediction(model, prediction, place) {
  const parts = [];
  if (model.task === "classes" || model.task === "scores") {
    const winner = largest(prediction);
    const figure = model.task === "classes" ? percent(prediction[winner]) : number(prediction[winner]);
    parts.push(
      element("p", { class: "decision", id: "decision" }, element("bdi", { class: "name" }, model.outputs[winner]), " ", exact(prediction[winner], figure)),
    );
  } else if (prediction.length === 1 && model.task === "numbers") {
    parts.push(element("p", { class: "decision", id: "decision" }, exact(prediction[0], number(prediction[0]))));
  }
  if (prediction.length > 1) parts.push(bars(model, prediction, place));
  place.replaceChildren(...parts);
}

function bars(model, prediction, place) {
  const order = prediction.map((_, k) => k), few = matchMedia("(max-width: 760px)").matches ? FEW_BARS : MOST_BARS;
  if (order.length > few) order.sort((a, b) => prediction[b] - prediction[a]);
  const shares = model.task === "classes" || model.task === "labels";
  const most = shares ? 1 : Math.max(...prediction.map(Math.abs)) || 1;
  const isAll = place.dataset.all === "true", nShown = isAll ? order.length : few;
  const list = order.slice(0, nShown).map((k) => bar(model.outputs[k], prediction[k], prediction[k] / most, shares ? percent(prediction[k]) : number(prediction[k])));
  if (order.length > few) {
    const text = isAll ? "fewer" : `and ${(order.length - few).toLocaleString("en")} more`;
    const turn = () => ((place.dataset.all = isAll ? "false" : "true"), showPrediction(model, prediction, place));
    list.push(element("li", { class: "note" }, element("button", { type: "button", class: "link", onclick: turn }, text)));
  }
  return element("ul", { class: isAll ? "bars all" : "bars" }, ...list);
}

function bar(name, value, share, text) {
  const fill = element("span", { class: share < 0 ? "fill negative" : "fill" });
  fill.style.width = `${100 * Math.min(1, Math.abs(share))}%`;
  return element(
    "li", {},
    element("bdi", { class: "name", title: name }, name),
    element("span", { class: "track", "aria-hidden": "true" }, fill),
    exact(value, text),
  );
}

/** Show which columns carried the decision in this tree. */
export function showReasons(model, tree, share, signs, place, isTypical) {
  const total = new Map();
  for (let i = tree.nNodes; i < tree.size; i++) {
    const sign = signs[tree.output[tree.parentOf(i)]];
    if (!sign) continue;
    const column = model.columnOf[tree.inputOf(i)];
    total.set(column, (total.get(column) ?? 0) + sign * share[i]);
  }
  const entries = [...total].sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  const most = entries.length ? Math.abs(entries[0][1]) || 1 : 1;
  const list = (isTypical ? [] : entries.filter(([, x]) => Math.abs(x) > 0.002 * most).slice(0, MOST_REASONS)).map(([column, x]) => bar(model.columns[column].name, x, x / most, signed(x)));
  const up = signs.indexOf(1), down = signs.indexOf(-1);
  const title = model.outputs.length === 1 ? "the prediction" : down < 0 ? `“${shorten(model.outputs[up], 40)}”` : `“${shorten(model.outputs[up], 40)}” rather than “${shorten(model.outputs[down], 40)}”`;
  place.replaceChildren(
    element("p", { class: "note" }, list.length ? `For ${title}, compared with a typical row:` : "This is the typical row. Change a value to see what it does."),
    element("ul", { class: "bars" }, ...list),
  );
}

/** Show the list of the trees of a forest, each with its vote. */
export function showTrees(model, trees, inputs, current, place, choose) {
  if (place.childElementCount !== trees.length) {
    place.replaceChildren(...trees.map((tree, t) => element("li", {}, element("button", { type: "button", onclick: () => choose(t) }))));
  }
  trees.forEach((tree, t) => {
    const button = place.children[t].firstChild;
    const vote = predictionOf(model, tree, inputs);
    const best = largest(vote);
    const text = model.task === "classes" ? `${shorten(model.outputs[best], 24)} ${percent(vote[best])}` : number(vote[0]);
    button.replaceChildren(`Tree ${t + 1}`, element("span", {}, text));
    button.setAttribute("aria-current", t === current ? "true" : "false");
  });
}

/** Show one node: what it computes, and the nodes above and below it. */
export function showNode(model, tree, item, run, isCollapsed, place, actions) {
  if (item < 0) {
    place.replaceChildren(element("p", { class: "note" }, "Select a node in the drawing, or walk through the tree with the arrow keys."));
    return;
  }
  const parts = [element("h3", {}, element("bdi", {}, titleOf(model, tree, item)))];
  if (tree.isFold(item)) {
    const show = element("button", { type: "button", onclick: () => actions.toggle(item) }, "Show them");
    place.replaceChildren(...parts, element("p", { class: "note" }, describe(model, tree, item, run)), element("p", { class: "buttons" }, show));
    return;
  }
  const facts = [];
  if (item >= tree.nOutputs) facts.push(["weight", tree.weight[item]]);
  if (tree.isLeaf(item)) facts.push(["value", run.value[item]]);
  else facts.push(["bias", tree.bias[item]], ["sum", run.sum[item]], ["value", run.value[item]]);
  const list = facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, exact(value, number(value)))));
  if (!tree.isLeaf(item)) list.unshift(element("div", {}, element("dt", {}, "activation"), element("dd", {}, activationOf(tree, item))));
  const times = tree.isLeaf(item) ? tree.placesOf(item)[1].length : 1;
  parts.push(element("dl", {}, ...list));
  if (times > 1) parts.push(element("p", { class: "note" }, `The weights of ${times} leaves with this input are added.`));
  const buttons = [];
  if (item >= tree.nOutputs) buttons.push(element("button", { type: "button", onclick: () => actions.select(tree.parentOf(item)) }, "Node above"));
  if (!tree.isLeaf(item)) buttons.push(element("button", { type: "button", onclick: () => actions.toggle(item) }, isCollapsed ? "Expand" : "Collapse"));
  if (buttons.length) parts.push(element("p", { class: "buttons" }, ...buttons));
  if (actions.edits) parts.push(nodeEdits(tree, item, actions.edits));
  const below = tree.childrenOf(item);
  if (below.length) parts.push(element("h4", {}, "Terms of its sum"), terms(model, tree, below, run, actions));
  place.replaceChildren(...parts);
}

function terms(model, tree, items, run, actions) {
  const rows = items.slice(0, MOST_TERMS).map((i) => {
    const weight = tree.weight[i];
    return element(
      "li", {},
      element("button", { type: "button", onclick: () => actions.select(i) }, element("bdi", {}, shorten(titleOf(model, tree, i), 60))),
      element("span", { class: weight < 0 ? "negative" : "positive" }, `${signed(weight)} × ${number(run.value[i])} = ${signed(weight * run.value[i])}`),
    );
  });
  if (items.length > MOST_TERMS) rows.push(element("li", { class: "note" }, `and ${items.length - MOST_TERMS} more`));
  return element("ul", { class: "terms" }, ...rows);
}

export function titleOf(model, tree, item) {
  if (tree.isFold(item)) return plural(tree.display.folded[tree.parentOf(item)], "more leaf", "more leaves");
  if (tree.isLeaf(item)) return model.inputs[tree.inputOf(item)];
  return item < tree.nOutputs ? model.outputs[item] : `${tree.activation[item]} node ${item}`;
}

/** Return one line about an item, for the tooltip and for screen readers. */
export function describe(model, tree, item, run) {
  if (tree.isFold(item)) return `${titleOf(model, tree, item)}: ${percent(foldOf(tree, tree.parentOf(item)).share)} of the output of ${shorten(model.outputs[tree.output[tree.parentOf(item)]], 40)}`;
  const weight = item < tree.nOutputs ? "" : `weight ${signed(tree.weight[item])}, `;
  if (tree.isLeaf(item)) return `${shorten(titleOf(model, tree, item), 80)}: ${weight}value ${number(run.value[item])}`;
  const n = tree.childrenOf(item).length;
  return `${shorten(titleOf(model, tree, item), 80)}: ${weight}${activationOf(tree, item)}, bias ${signed(tree.bias[item])}, value ${number(run.value[item])}, ${plural(n, "term")}`;
}

/** Show the pairs of columns that interact most. */
export function listInteractions(model, pairs, nPairs, note, place) {
  const strong = pairs.filter(({ strength }) => strength > 1e-9 * (pairs[0]?.strength || 1)).slice(0, MOST_PAIRS);
  const excluded = nPairs - pairs.length;
  const rest = excluded ? ` ${plural(excluded, "pair")} of ${nPairs} cannot interact: no node with a bend reads both.` : "";
  note.textContent = (strong.length ? "What two columns change together, beyond what each changes alone (mean for typical rows, before the link)." : "No two columns interact.") + rest;
  const most = strong[0]?.strength || 1;
  const list = strong.map(({ a, b, strength }) => bar(`${shorten(model.columns[a].name, 24)} × ${shorten(model.columns[b].name, 24)}`, strength, strength / most, number(strength)));
  place.replaceChildren(element("ul", { class: "bars wide-names" }, ...list));
}
