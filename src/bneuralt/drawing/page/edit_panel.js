// The panel of edits: limits and signs of columns, scores before and after, the log.
import { Editor } from "./editing.js";
import { element } from "./elements.js";
import { number } from "./format.js";
import { encode, predict } from "./prediction.js";
import { scoresOf, targetCandidates } from "./scores.js";
import { Tree } from "./tree.js";

export class EditPanel {
  /** `actions` has the background, the title, and what to do after an edit and after a refused one. */
  constructor(model, trees, byId, actions) {
    Object.assign(this, { model, trees, byId, actions, editor: new Editor(model, trees) });
    // The model as it is before edits, whose scores are compared.
    this.original = { ...model, columns: model.columns.map((column) => ({ ...column })) };
    this.useRows(null, null);
    this.listen();
    byId("edit-panel").hidden = false;
    byId("edit-column").replaceChildren(...model.columns.map((column, j) => new Option(column.name, String(j))));
    byId("edit-column").value = String(Math.max(0, model.columns.findIndex(({ reads }) => reads === "number")));
    this.refresh();
  }

  listen() {
    const { byId, editor } = this, on = (id, event, act) => byId(id).addEventListener(event, act);
    const ends = () => ["limit-low", "limit-high"].map((id) => (byId(id).value === "" ? NaN : Number(byId(id).value)));
    on("edit-column", "change", () => this.refresh());
    on("limit", "click", () => this.edit(() => editor.limit(this.column, ends())));
    on("unlimit", "click", () => this.edit(() => editor.limit(this.column, null)));
    on("force", "click", () => this.edit(() => editor.force(this.column, Number(byId("force-sign").value))));
    on("undo", "click", () => this.edit(() => editor.undo()));
    on("download", "click", () => this.download());
    on("target", "change", () => this.refreshScores());
  }

  get column() {
    return Number(this.byId("edit-column").value);
  }

  /** Return the edits of nodes of a tree. */
  ofTree(t) {
    const { editor } = this;
    return {
      setWeight: (item, value) => this.edit(() => editor.setWeight(t, item, value)),
      setBias: (node, value) => this.edit(() => editor.setBias(t, node, value)),
      cut: (item) => this.edit(() => editor.cut(t, item)),
    };
  }

  /** Make an edit and show what it does, or why it is refused. */
  edit(act) {
    const message = this.byId("edit-message");
    try {
      act();
    } catch (error) {
      message.textContent = `Not done. ${error.message}`;
      return this.actions.refused();
    }
    message.textContent = "";
    this.refresh();
    this.actions.modelChanged();
    this.refreshScores();
  }

  /** Show what can be done with the column that is chosen, and the edits, the last one first. */
  refresh() {
    const { byId, editor, model } = this, column = model.columns[this.column], isNumber = column.reads === "number";
    const [low, high] = column.bounds ?? column.range ?? ["", ""];
    byId("limit-low").value = isNumber ? low : "";
    byId("limit-high").value = isNumber ? high : "";
    for (const id of ["limit-low", "limit-high", "limit"]) byId(id).disabled = !isNumber;
    byId("unlimit").disabled = !column.bounds;
    for (const id of ["force-sign", "force"]) byId(id).disabled = !isNumber || !model.output_signs;
    byId("force-sign").value = String(editor.constraints[model.positions[this.column]]);
    const time = (text) => element("time", { datetime: text, class: "note" }, text.slice(0, 16).replace("T", " "));
    const entries = editor.log.map((entry) => element("li", {}, entry.text, " ", time(entry.time)));
    byId("log").replaceChildren(...entries.reverse());
    byId("log").hidden = byId("undo").disabled = !entries.length;
  }

  /** Use other rows for scores; `table` has their targets, and is null if they have none. */
  useRows(rows, table) {
    const targets = table ? targetCandidates(this.model, table.names) : [];
    Object.assign(this, { rows, table, before: [] });
    this.byId("target").replaceChildren(...targets.map((name) => new Option(name)));
    this.byId("target-row").hidden = !targets.length;
    this.refreshScores();
  }

  refreshScores() {
    this.actions.background.start("scores", this.compare());
  }

  /** Compare predictions for the rows before and after all edits; pauses often. */
  *compare() {
    const { model, trees, original, rows, table, before, byId } = this, target = byId("target").value, now = [];
    if (!table || !target) return showScores(byId("scores"), null);
    const first = (this.firstTrees ??= model.trees.map((data) => new Tree(data, model)));
    for (let i = 0; i < rows.length; i++) {
      before[i] ??= predict(original, first, encode(original, rows[i]));
      now.push(predict(model, trees, encode(model, rows[i])));
      if (i % 16 === 0) yield;
    }
    const targets = table.texts(target);
    showScores(byId("scores"), scoresOf(model, before, targets), scoresOf(model, now, targets), rows.length);
  }

  download() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([this.editor.fileText()], { type: "application/json" }));
    link.download = `${this.actions.title || "model"}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
}

/** Show scores before and after the edits. */
function showScores(place, before, after, n) {
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
