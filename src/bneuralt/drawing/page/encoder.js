// From the values of an example to the inputs of trees, as bneuralt.tables.features does it.
// A value is a number, a text (categories and dates), or null where it is missing.

const MISSING = new Set(["", "?", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null"]);
const ISO = /^(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?:[ T](\d{1,2}):(\d{2}).*)?$/;
const LOCAL = /^(\d{1,2})[./-](\d{1,2})[./-](\d{4})(?:[ T](\d{1,2}):(\d{2})(?::\d{2})?)?$/;
const DAY = 86400000;

/** The value of a cell that is neither a category nor missing, and not in training. */
export const ANOTHER = "\u0000another";

export const standsForMissing = (text) => MISSING.has(text.toLowerCase()) || text === "None";

/** Return the inputs for the values of the columns. */
export function encode(model, values) {
  const inputs = new Float64Array(model.inputs.length);
  model.columns.forEach((column, j) => {
    const encoded = ENCODERS[column.kind](column, values[j]);
    column.inputs.forEach((at, i) => {
      if (at >= 0) inputs[at] = encoded[i];
    });
  });
  return inputs;
}

/** Return the inputs that stand for all training rows: means, and shares of categories. */
export function typicalInputs(model) {
  const inputs = new Float64Array(model.inputs.length);
  for (const column of model.columns) {
    const encoded = column.kind === "category" ? shares(column) : ENCODERS[column.kind](column, null);
    column.inputs.forEach((at, i) => {
      const isGap = column.gaps && column.kind !== "category" && i === column.inputs.length - 1;
      if (at >= 0) inputs[at] = isGap ? 0 : encoded[i];
    });
  }
  return inputs;
}

/** Return the value of a cell of a table. */
export function readCell(column, cell) {
  if (cell === null || cell === undefined || (typeof cell === "number" && Number.isNaN(cell))) return null;
  const text = (typeof cell === "boolean" ? (cell ? "True" : "False") : String(cell)).trim();
  if (standsForMissing(text)) return null;
  if (column.kind === "number") {
    const number = typeof cell === "boolean" ? Number(cell) : Number(text);
    if (!Number.isFinite(number)) throw new Error(`“${column.name}” needs a number, not “${text}”`);
    return number;
  }
  if (column.kind === "date") {
    if (!parseDate(text, column.day_first)) throw new Error(`“${column.name}” needs a date, not “${text}”`);
    return text;
  }
  return /^[+-]?\d+\.0*$/.test(text) ? text.split(".")[0] : text;
}

/** Return year, month, day and hour; null for a text that is no date. */
export function parseDate(text, dayFirst) {
  let match = ISO.exec(text);
  let parts = match && [match[1], match[2], match[3], match[4]];
  if (!match) {
    match = LOCAL.exec(text);
    if (!match) return null;
    const [day, month] = dayFirst ? [match[1], match[2]] : [match[2], match[1]];
    parts = [match[3], month, day, match[4]];
  }
  const [year, month, day, hour] = parts.map((part) => Number(part ?? 0));
  const time = new Date(0);
  time.setUTCFullYear(year, month - 1, day);
  if (time.getUTCMonth() !== month - 1 || time.getUTCDate() !== day || hour > 23) return null;
  const weekday = (((Math.floor(time.getTime() / DAY) + 3) % 7) + 7) % 7; // Monday is 0
  return { year, month, day, hour, weekday };
}

const ENCODERS = {
  number(column, value) {
    return [value ?? column.mean ?? 0, value === null ? 1 : 0];
  },

  category(column, value) {
    const n = column.shares.length;
    const unknown = column.other ? column.categories.length : n;
    let entry = column.categories.indexOf(value);
    if (value === null) entry = column.gaps ? n - 1 : n;
    else if (entry < 0) entry = unknown;
    if (entry === n) return shares(column);
    const all = new Array(n).fill(0);
    all[entry] = 1;
    return all.slice(n - column.inputs.length);
  },

  date(column, value) {
    const date = value === null ? null : parseDate(value, column.day_first);
    const parts = column.parts.map((part, i) => (date ? date[part] : column.means[i]));
    return [...parts, date ? 0 : 1];
  },
};

function shares(column) {
  return column.shares.slice(column.shares.length - column.inputs.length);
}
