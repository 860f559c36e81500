// The panel of edits: limits and signs of columns, scores, the log.
import { element } from "./elements.js";
import { number } from "./format.js";

/** Fill the fields for the column that is chosen. */
export function showColumnEdit(byId, editor, j) {
  const { model } = editor, column = model.columns[j], isNumber = column.reads === "number";
  const [low, high] = column.bounds ?? column.range ?? ["", ""];
  byId("limit-low").value = isNumber ? low : "";
  byId("limit-high").value = isNumber ? high : "";
  for (const id of ["limit-low", "limit-high", "limit"]) byId(id).disabled = !isNumber;
  byId("unlimit").disabled = !column.bounds;
  for (const id of ["force-sign", "force"]) byId(id).disabled = !isNumber || !model.output_signs;
  byId("force-sign").value = String(editor.constraints[model.positions[j]]);
}

/** Show the edits, the last one first. */
export function showLog(byId, editor) {
  const entries = editor.log.map(({ text, time }) => element("li", {}, text, " ", element("time", { datetime: time, class: "note" }, time.slice(0, 16).replace("T", " "))));
  byId("log").replaceChildren(...entries.reverse());
  byId("log").hidden = !entries.length;
  byId("undo").disabled = !entries.length;
}

/** Show scores before and after the edits. */
export function showScores(place, before, after, n) {
  if (!before || !after) {
    place.replaceChildren(element("p", { class: "note" }, "Load rows with their target to see the score before and after edits."));
    return;
  }
  const cell = (tag, ...content) => element(tag, tag === "th" ? { scope: "col" } : {}, ...content);
  const rows = before.map(([name, x], i) =>
    element("tr", {}, element("th", { scope: "row" }, name), ...[x, after[i][1]].map((value) => cell("td", element("data", { value: String(value) }, number(value))))),
  );
  const head = element("tr", {}, cell("td", `${n.toLocaleString("en")} rows`), cell("th", "before"), cell("th", "after"));
  place.replaceChildren(element("table", { class: "scores" }, element("thead", {}, head), element("tbody", {}, ...rows)));
}

/** Return fields for the weight and the bias of a node, and a button that cuts it off. */
export function nodeEdits(tree, item, { setWeight, setBias, cut }) {
  const box = (id, title, value, set) => [
    element("label", { for: id }, title),
    element("input", { id, type: "number", step: "any", value: String(value), onchange: (event) => set(item, event.target.value === "" ? NaN : Number(event.target.value)) }),
  ];
  const parts = [];
  if (item >= tree.nOutputs) parts.push(...box("edit-weight", "Weight", tree.weight[item], setWeight));
  if (!tree.isLeaf(item)) parts.push(...box("edit-bias", "Bias", tree.bias[item], setBias));
  if (item >= tree.nOutputs && tree.weight[item]) parts.push(element("button", { type: "button", id: "cut", onclick: () => cut(item) }, tree.isLeaf(item) ? "Cut this leaf" : "Cut this branch"));
  return element("p", { class: "edit-row" }, ...parts);
}
