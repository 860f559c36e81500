// Cells of a table. The value of one is a number, a text (also of a date), or null if it is missing.
import { isGap, readAmount, readClock, readDate, readNumber, readText } from "../../model/cells.js";

export const DAY = 86400000;

/** The value of a cell with a text that did not occur in training. */
export const ANOTHER = "\u0000another";

const NUMBERS = { number: readNumber, amount: readAmount, clock: readClock };

/** Values of cells, by the operation that reads them; they throw an error for an unfit text. */
const VALUES = {
  number(cell, { name, notation = ["number"] }) {
    const [kind, ...settings] = notation;
    return NUMBERS[kind](cell, name, ...settings);
  },

  date_part(cell, { name, day_first }) {
    readDate(cell, name, day_first);
    return String(cell).trim();
  },

  lookup: (cell) => readText(cell),
};

/** Return the value of a cell, given what a file has in it. */
export function readCell(column, cell) {
  return isGap(cell, column.gaps ?? []) ? null : VALUES[column.reads](cell, column);
}

/** Return the parts of a date; null for a text that is no date. */
export function dateOf(text, dayFirst) {
  try {
    return readDate(text, "", dayFirst);
  } catch {
    return null;
  }
}
