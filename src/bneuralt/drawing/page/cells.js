// Cells of a table. The value of one is a number, a text (also of a date), or null if it is missing.

const MISSING_TEXTS = new Set(["", "?", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null"]);
const ISO = /^(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?:[ T](\d{1,2}):(\d{2}).*)?$/;
const LOCAL = /^(\d{1,2})[./-](\d{1,2})[./-](\d{4})(?:[ T](\d{1,2}):(\d{2})(?::\d{2})?)?$/;
export const DAY = 86400000;

/** The value of a cell with a text that did not occur in training. */
export const ANOTHER = "\u0000another";

/** Values of cells, by the operation that reads them; they throw an error for an unfit text. */
const VALUES = {
  number(text, column) {
    const number = text === "True" ? 1 : text === "False" ? 0 : Number(text);
    if (!Number.isFinite(number)) throw new Error(`“${column.name}” needs a number, not “${text}”`);
    return number;
  },

  date_part(text, column) {
    if (!dateOf(text, column.day_first)) throw new Error(`“${column.name}” needs a date, not “${text}”`);
    return text;
  },

  lookup: (text) => (/^[+-]?\d+\.0*$/.test(text) ? text.split(".")[0] : text),
};

/** Return the value of a cell, given what a file has in it. */
export function readCell(column, cell) {
  if (cell === null || cell === undefined) return null;
  const text = (typeof cell === "boolean" ? (cell ? "True" : "False") : String(cell)).trim();
  if (MISSING_TEXTS.has(text.toLowerCase()) || text === "None") return null;
  return VALUES[column.reads](text, column);
}

/** Return the parts of a date; null for a text that is no date. */
export function dateOf(text, dayFirst) {
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
  const days = Math.floor(time.getTime() / DAY);
  const weekday = (((days + 3) % 7) + 7) % 7; // Monday is 0
  return { year, month, day, hour, weekday, elapsed: days + hour / 24 };
}
