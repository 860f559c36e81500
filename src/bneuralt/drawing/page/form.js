// The form for an example: one field for each column that the model uses.
import { element, svgElement } from "./elements.js";
import { ANOTHER, dateOf } from "./cells.js";
import { plural } from "./format.js";

const MOST_FIELDS = 100, FEW_FIELDS = 12;

export class Form {
  constructor(model, container, onChange) {
    this.model = model;
    this.container = container;
    this.onChange = onChange;
    this.values = typicalValues(model);
    this.fields = [];
    this.query = "";
    this.build();
  }

  /** Show the fields of the columns that are searched for. */
  build() {
    const query = this.query.toLowerCase();
    const columns = this.model.columns.map((column, j) => j).filter((j) => this.model.columns[j].name.toLowerCase().includes(query));
    this.fields = [];
    const rows = columns.slice(0, MOST_FIELDS).map((j) => this.row(j));
    this.container.replaceChildren(...rows);
    const notes = [];
    if (columns.length > MOST_FIELDS) notes.push(`${plural(columns.length - MOST_FIELDS, "more column")}: find them by name.`);
    if (!columns.length) notes.push("No column has this name.");
    if (this.model.n_unused && !query) notes.push(`${plural(this.model.n_unused, "column")} of the table not used by the model.`);
    if (notes.length) this.container.append(element("p", { class: "note" }, notes.join(" ")));
    this.refresh();
    this.onBuild?.();
  }

  get isTypical() {
    const typical = typicalValues({ ...this.model, examples: null });
    return this.values.every((value, j) => value === typical[j]);
  }

  get needsSearch() {
    return this.model.columns.length > FEW_FIELDS;
  }

  set(values) {
    this.values = values;
    this.refresh();
    this.onChange();
  }

  reset() {
    this.set(typicalValues({ ...this.model, examples: null }));
  }

  change(j, value) {
    this.values[j] = value;
    this.refresh(j);
    this.onChange();
  }

  refresh(only = null) {
    for (const { j, show, note } of this.fields) {
      if (only !== null && only !== j) continue;
      show(this.values[j]);
      const text = outsideText(this.model.columns[j], this.values[j]);
      note.hidden = !text;
      note.textContent = text;
    }
  }

  row(j) {
    const column = this.model.columns[j], id = `column-${j}`;
    const label = element("label", { for: id, title: column.name }, element("bdi", {}, column.name));
    const { controls, show } = FIELDS[column.reads](column, id, (value) => this.change(j, value));
    const chart = svgElement("svg", { class: "effect", role: "img", "aria-label": column.name });
    const note = element("p", { class: "note", hidden: true });
    this.fields.push({ j, show, chart, note });
    return element("div", { class: `field ${column.reads}` }, label, ...controls, chart, note);
  }
}

/** Return an example in the middle, or the first row that is given. */
export function typicalValues(model) {
  if (model.examples?.rows.length) return [...model.examples.rows[0]];
  return model.columns.map(({ typical, range }) => (typeof typical === "number" ? rounded(typical, range ? range[1] - range[0] : 0) : typical));
}

/** Return what to say about a number that is outside of the training range; nothing for others. */
function outsideText({ reads, range, bounds }, value) {
  if (reads !== "number" || value === null || !range || (value >= range[0] && value <= range[1])) return "";
  const counts = bounds && (value < bounds[0] || value > bounds[1]) ? `; it counts as ${Math.min(Math.max(value, bounds[0]), bounds[1])}` : "";
  return `outside of the training range, ${range[0]} to ${range[1]}${counts}`;
}

/** Round to a thousandth of the span. */
function rounded(x, span) {
  if (!(span > 0)) return Number(x.toPrecision(6));
  const digits = Math.min(15, Math.max(0, 3 - Math.floor(Math.log10(span))));
  return Number(x.toFixed(digits));
}

/** The fields of a column, by the operation that reads its cells. */
const FIELDS = {
  number(column, id, change) {
    const [low, high] = column.range ?? [0, 0];
    const box = element("input", {
      id, type: "number", step: "any", placeholder: "missing", inputmode: "decimal",
      oninput: () => {
        if (box.value !== "" || box.validity.valid) change(box.value === "" ? null : Number(box.value));
      },
    });
    const controls = [box];
    let slider = null;
    if (high > low) {
      slider = element("input", {
        type: "range", min: low, max: high, step: "any", "aria-label": `${column.name}, slider`,
        oninput: () => {
          const x = Number(slider.value);
          change(x === low || x === high ? x : rounded(x, high - low));
        },
      });
      controls.unshift(slider);
    }
    const show = (value) => {
      if (document.activeElement !== box || Number(box.value) !== value) box.value = value ?? "";
      if (slider && document.activeElement !== slider) slider.value = value ?? column.typical;
      else if (slider && value !== null && Math.abs(Number(slider.value) - value) > (high - low) / 500) slider.value = value;
      box.classList.toggle("outside", value !== null && high > low && (value < low || value > high));
    };
    return { controls, show };
  },

  lookup(column, id, change) {
    const options = [
      ...column.categories.map((category) => element("option", { value: `=${category}` }, category)),
      element("option", { value: "another" }, "(another value)"),
      element("option", { value: "missing" }, "(missing)"),
    ];
    const list = element(
      "select",
      { id, onchange: () => change(list.value.startsWith("=") ? list.value.slice(1) : list.value === "missing" ? null : ANOTHER) },
      ...options,
    );
    const categories = new Set(column.categories);
    const show = (value) => (list.value = value === null ? "missing" : categories.has(String(value)) ? `=${value}` : "another");
    return { controls: [list], show };
  },

  date_part(column, id, change) {
    const hasHour = column.parts.includes("hour");
    const box = element("input", {
      id, type: hasHour ? "datetime-local" : "date",
      onchange: () => change(box.value === "" ? null : box.value),
    });
    const show = (value) => {
      const date = value === null ? null : dateOf(value, column.day_first);
      const text = date && [[date.year, 4], [date.month, 2], [date.day, 2]].map(([n, width]) => String(n).padStart(width, "0")).join("-");
      const shown = !date ? "" : hasHour ? `${text}T${String(date.hour).padStart(2, "0")}:00` : text;
      if (box.value.slice(0, shown.length || 1) !== shown) box.value = shown;
    };
    return { controls: [box], show };
  },
};
