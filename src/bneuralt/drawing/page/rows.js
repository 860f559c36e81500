// Examples from a file or from pasted text: CSV with a header, or JSON.
import { readCell } from "./cells.js";

/**
 * Return the rows of a text: the values of the model's columns, and the `names` of all columns, of
 * which `texts(name)` returns the cells as they are.
 */
export function readRows(model, text) {
  const trimmed = text.trim();
  if (!trimmed) throw new Error("There is no row in it.");
  const records = trimmed.startsWith("[") || trimmed.startsWith("{") ? fromJson(trimmed) : fromCsv(trimmed);
  if (!records.length) throw new Error("There is no row in it.");
  const absent = model.columns.filter((column) => !records.some((record) => record.has(column.name)));
  if (absent.length === model.columns.length) {
    throw new Error(`It needs a header with the columns ${model.columns.slice(0, 5).map((c) => `“${c.name}”`).join(", ")} …`);
  }
  return {
    rows: records.map((record) => model.columns.map((column) => readCell(column, record.get(column.name)))),
    names: [...new Set(records.slice(0, 100).flatMap((record) => [...record.keys()]))],
    texts: (name) => records.map((record) => (record.get(name) ?? null) === null ? null : String(record.get(name))),
  };
}

function fromJson(text) {
  const data = JSON.parse(text);
  return (Array.isArray(data) ? data : [data]).map((row) => new Map(Object.entries(row)));
}

function fromCsv(text) {
  const head = text.split("\n", 1)[0];
  const separator = [",", ";", "\t"].reduce((best, mark) => (count(head, mark) > count(head, best) ? mark : best));
  const [names, ...rows] = cells(text, separator);
  return rows.filter((row) => row.some((cell) => cell !== "")).map((row) => new Map(names.map((name, j) => [name.trim(), row[j]])));
}

const count = (text, mark) => text.split(mark).length;

/** Return the cells of each line; in quotes, separators and line ends are ordinary characters. */
function cells(text, separator) {
  const rows = [[]];
  let cell = "", quoted = false;
  const source = text.replace(/\r\n?/g, "\n") + "\n";
  for (let i = 0; i < source.length; i++) {
    const c = source[i];
    if (quoted) {
      if (c !== '"') cell += c;
      else if (source[i + 1] === '"') cell += source[++i];
      else quoted = false;
    } else if (c === '"' && cell === "") quoted = true;
    else if (c === separator || c === "\n") {
      rows[rows.length - 1].push(cell);
      cell = "";
      if (c === "\n") rows.push([]);
    } else cell += c;
  }
  rows.pop();
  return rows;
}
