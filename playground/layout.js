// Which columns are used and as what: what bneuralt.tables.kinds and targets do.
import { CATEGORIES, ID_NAME, LAYOUT, MEANS, NAMELESS, TARGETS, WORDS } from "./recipe.js";
import { TableError } from "./csv.js";
import { areCodes, gapWords, hasThousands, labelOf, Notation, parseDates, standsForMissing, toNumber } from "./texts.js";

const WORD_NUMBERS = WORDS.WORDS;

/** Return the different cells of a column that are not missing, and how often each occurs. */
function distinctCells(column) {
  if (column.distinct) return column.distinct;
  const all = new Float64Array(column.texts.length);
  for (const code of column.codes) all[code]++;
  const texts = [], counts = [];
  column.texts.forEach((text, i) => {
    if (!all[i] || standsForMissing(text)) return;
    texts.push(text);
    counts.push(all[i]);
  });
  return (column.distinct = { texts, counts });
}

const areDates = ({ texts, counts }) => {
  const words = gapWords(texts, counts) ?? [];
  return parseDates(texts.filter((text) => !words.includes(text))) !== null;
};

const areWords = (texts) => texts.every((cell) => cell.toLowerCase() in WORD_NUMBERS);
const arePlain = (texts) => texts.every((cell) => toNumber(cell) !== null) && !areCodes(texts);

/** Return how texts are numbers; null if they are plain numbers or none. */
function notationOf({ texts, counts }, decimal) {
  if (!texts.length || areWords(texts)) return null;
  if (!arePlain(texts)) return Notation.learn(texts, counts, decimal);
  if (decimal !== "," || !texts.some((cell) => cell.includes("."))) return null;
  const notation = Notation.learn(texts, counts, decimal);
  return notation?.thousands === "." ? notation : null;
}

/** Return the decimal point: a comma if a column has numbers that only that explains. */
function decimalPoint(columns) {
  const isComma = columns.some((column) => {
    const { texts } = distinctCells(column);
    return texts.some((cell) => cell.includes(",")) && texts.every((cell) => toNumber(cell, ",") !== null) && !hasThousands(texts);
  });
  return isComma ? "," : ".";
}

function whyNumbered(table, j, values) {
  const name = table.names[j], isNameless = j === 0 && NAMELESS.test(name);
  if (!isNameless && !ID_NAME.test(name)) return null;
  if (!values.every((value) => value >= 0 && value <= LAYOUT.LARGEST_ID && Number.isInteger(value))) return null;
  if (name === "column1" && !values.every((value, i) => i === 0 || value > values[i - 1])) return null;
  return "its values are all different and its name is that of an identifier";
}

/** Return why a column identifies the rows rather than describing them; null if it does not. */
function whyId(table, j, distinct, areNumbers) {
  const n = table.nRows, { texts } = distinct;
  if (texts.length < LAYOUT.NEARLY_ALL * n || n < LAYOUT.FEWEST_ROWS_WITH_IDS || areNumbers) return null;
  const allDiffer = texts.length === n;
  if (arePlain(texts)) return allDiffer && new Set(texts.map(Number)).size === n ? whyNumbered(table, j, texts.map(Number)) : null;
  if (n < LAYOUT.FEWEST_ROWS_WITH_NAMES || areDates(distinct)) return null;
  return `its values are texts that are ${allDiffer ? "" : "nearly "}all different`;
}

/** Return what this page does not do: means of the target of categories with many values. */
function manyValues({ counts }) {
  const total = counts.reduce((sum, n) => sum + n, 0);
  const least = Math.max(CATEGORIES.FEWEST_ROWS, Math.min(CATEGORIES.SMALLEST_SHARE * total, CATEGORIES.ENOUGH_ROWS));
  const rare = counts.reduce((sum, n) => sum + (n < least ? n : 0), 0);
  const isLong = counts.length > CATEGORIES.MOST_CATEGORIES || rare >= MEANS.MIN_RARE_FRACTION * total;
  if (total < MEANS.MIN_ROWS || !isLong) return null;
  return "has many values: here each frequent value has an input, while bneuralt in Python takes means of the target by value";
}

/** Return number, text (dates, or numbers with a notation) or category, and a note if it is not clear. */
function kindOf(distinct) {
  const { texts } = distinct;
  if (areWords(texts) || arePlain(texts)) return { kind: "number" };
  if (areDates(distinct)) return { kind: "text" };
  const others = texts.filter((cell) => toNumber(cell) === null);
  if (!others.length || others.length === texts.length) return { kind: "category", note: manyValues(distinct) };
  return { kind: "category", note: `has numbers and texts such as “${others[0]}”: it is read as categories` };
}

/**
 * Return what each column is: {name, position, kind, shown, notation, why, note}.
 *
 * `kind` is number, text, category or unused; `shown` is what a reader calls it.
 */
export function learnColumns(table) {
  const decimal = decimalPoint(table.columns);
  const columns = table.names.map((name, position) => {
    const distinct = distinctCells(table.columns[position]);
    const column = { name, position, notation: null, why: null, note: null };
    if (!distinct.texts.length) return { ...column, kind: "unused", usual: "unused", why: "it has no values" };
    column.notation = notationOf(distinct, decimal);
    Object.assign(column, column.notation ? { kind: "text" } : kindOf(distinct));
    column.why = whyId(table, position, distinct, column.notation !== null);
    return { ...column, usual: column.kind, kind: column.why ? "unused" : column.kind };
  });
  return { decimal, columns };
}

/** Return the word for what a column is. */
export function shownKind(column, kind = column.kind) {
  if (kind === "unused" || kind === "category") return kind;
  return kind === "text" && !column.notation ? "date" : "number";
}

/** Return the features if a column is the target; a single column may well count its rows. */
export function featuresOf(columns, target) {
  const others = columns.filter((column) => column.position !== target);
  const used = others.filter((column) => column.kind !== "unused");
  if (used.length) return used;
  return others.filter((column) => column.why && column.usual !== "unused" && !column.isDropped).map((column) => ({ ...column, kind: column.usual }));
}

// -- targets ------------------------------------------------------------------------------

/** Return whether a column is a target of classes or of numbers, and how it is read. */
export function learnTarget(table, position, tableDecimal, task = "auto") {
  const name = table.names[position], distinct = distinctCells(table.columns[position]);
  const decimal = decimalPoint([table.columns[position]]);
  if (!distinct.texts.length) throw new TableError(`The target “${name}” has no values.`);
  let notation = task === "classification" ? null : notationOf(distinct, decimal);
  if (notation && task === "auto") {
    const values = new Set(distinct.texts.map((text) => notation.read(text)).filter((x) => !Number.isNaN(x)));
    if (values.size <= TARGETS.MAX_INTEGER_CLASSES && [...values].every(Number.isInteger)) notation = null;
  }
  if (notation) return { task: "regression", whole: false, notation };
  const numeric = distinct.texts.every((cell) => toNumber(cell, decimal) !== null) || (decimal === "." && hasThousands(distinct.texts));
  if (task === "regression") {
    if (!numeric) throw new TableError(`The target “${name}” has text, such as “${distinct.texts.find((cell) => toNumber(cell, decimal) === null)}”: its values are classes.`);
    return { task, whole: false, notation: null };
  }
  const labels = new Set(distinct.texts.map(labelOf));
  const whole = [...labels].every((label) => /^[+-]?\d+$/.test(label));
  if (task === "auto" && numeric && !(whole && labels.size <= TARGETS.MAX_INTEGER_CLASSES)) {
    return { task: "regression", whole: false, notation: null };
  }
  const nRows = distinct.counts.reduce((a, b) => a + b, 0);
  if (labels.size > TARGETS.MAX_INTEGER_CLASSES && labels.size > nRows / 2) {
    throw new TableError(`The target “${name}” has ${labels.size} different values in ${nRows} rows, too many for classes: choose another target.`);
  }
  if (labels.size < 2) throw new TableError(`The target “${name}” is “${[...labels][0]}” in every row: at least two classes are needed.`);
  return { task: "classification", whole, notation: null };
}

// -- values -------------------------------------------------------------------------------

/** Return the number of each different cell of a column, NaN for missing ones. */
export const cellNumbers = (texts) => Float64Array.from(texts, (cell) => WORD_NUMBERS[cell.toLowerCase()] ?? toNumber(cell) ?? NaN);

/** Return a column as numbers {values}, or as texts {codes, texts} with -1 for missing values. */
export function readColumn(table, column, decimal) {
  const { codes, texts } = table.columns[column.position];
  if (column.kind === "number") {
    const numbers = cellNumbers(texts);
    return { kind: "number", values: Float64Array.from(codes, (code) => numbers[code]) };
  }
  const places = new Map();
  const place = texts.map((cell) => {
    if (standsForMissing(cell)) return -1;
    const label = labelOf(cell);
    if (!places.has(label)) places.set(label, places.size);
    return places.get(label);
  });
  return {
    kind: "text",
    codes: Int32Array.from(codes, (code) => place[code]),
    texts: [...places.keys()],
    isCategory: column.kind === "category",
    notation: column.notation,
  };
}

/** Return the target: the classes and the class of each row (-1: missing), or numbers (NaN: missing). */
export function readTarget(table, position, target, decimal) {
  const { codes, texts } = table.columns[position];
  if (target.task === "regression") {
    const numbers = target.notation ? Float64Array.from(texts, (cell) => (standsForMissing(cell) ? NaN : target.notation.read(cell))) : cellNumbers(texts);
    return { values: Float64Array.from(codes, (code) => numbers[code]) };
  }
  const used = new Uint8Array(texts.length);
  for (const code of codes) used[code] = 1;
  const labels = texts.map((cell) => (standsForMissing(cell) ? null : labelOf(cell)));
  const classes = [...new Set(labels.filter((label, i) => label !== null && used[i]))];
  if (target.whole) classes.sort((a, b) => Number(a) - Number(b));
  else classes.sort();
  // labels such as 1 and +1 are one whole number
  const values = target.whole ? [...new Set(classes.map(Number))] : classes;
  const place = new Map(values.map((label, i) => [label, i]));
  const of = labels.map((label) => (label === null ? -1 : place.get(target.whole ? Number(label) : label) ?? -1));
  return { classes: values, labels: Int32Array.from(codes, (code) => of[code]) };
}
