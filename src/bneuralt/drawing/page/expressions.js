// Expressions as functions: one entry for each operation of bneuralt.expressions.
// An expression is a number, the name of a variable, or a list: operation, arguments, value.
import { dateOf } from "./cells.js";

const EXP_LIMIT = 708;

const exp = (x) => Math.exp(Math.min(Math.max(x, -EXP_LIMIT), EXP_LIMIT));

function sigmoid(x) {
  const small = Math.exp(-Math.abs(x)); // of either sign, without overflow
  return (x < 0 ? small : 1) / (1 + small);
}

/** Operations on numbers. */
const NUMERIC = {
  add: (a, b) => a + b,
  subtract: (a, b) => a - b,
  multiply: (a, b) => a * b,
  divide: (a, b) => a / b,
  minimum: (a, b) => Math.min(a, b),
  maximum: (a, b) => Math.max(a, b),
  absolute: Math.abs,
  square: (a) => a * a,
  sqrt: Math.sqrt,
  exp,
  log: Math.log,
  tanh: Math.tanh,
  sigmoid,
  greater: (a, b) => a > b,
  is_missing: Number.isNaN,
  select: (condition, a, b) => (condition ? a : b),
  if_missing: (a, b) => (Number.isNaN(a) ? b : a),
};

/** Operations that take a vector as a whole. */
const VECTORS = {
  largest: (v) => Math.max(...v),
  total: (v) => v.reduce((sum, x) => sum + x, 0),
  ordered: (v, places) => {
    const sorted = [...v].sort((a, b) => a - b);
    return places.map((place) => sorted[place]);
  },
};

/** Operations that read a cell: from their values and the column to a function of cell and mean. */
const CELLS = {
  number: () => ([cell]) => (cell === null ? NaN : Number(cell)),
  lookup: ([unknown, missing, usual, ...pairs], { categories }) => {
    const numbers = new Map(categories.map((text) => [text, usual]));
    for (let i = 0; i < pairs.length; i += 2) numbers.set(categories[pairs[i]], pairs[i + 1]);
    return ([cell, mean]) => {
      const number = cell === null ? missing : numbers.get(String(cell)) ?? unknown;
      return number === "mean" ? mean : number;
    };
  },
  date_part: ([part], column) => ([cell]) => (cell === null ? NaN : dateOf(cell, column.day_first)[part]),
};

/** Return an operation on numbers as one on vectors, entry by entry. */
const entrywise = (apply) => (...values) => {
  const size = Math.max(...values.map((x) => (Array.isArray(x) ? x.length : 0)));
  if (!size) return apply(...values);
  const entry = (x, k) => (Array.isArray(x) ? x[x.length === 1 ? 0 : k] : x);
  return Array.from({ length: size }, (_, k) => apply(...values.map((x) => entry(x, k))));
};

/**
 * Return an expression as a function of a list, the values of its variables in the order of `names`.
 *
 * An expression of a cell needs the column; its list is the cell and the mean. Links have vectors.
 */
export function compile(expression, names, { column = null, hasVectors = false } = {}) {
  if (typeof expression === "number") return () => expression;
  if (typeof expression === "string") {
    const place = names.indexOf(expression);
    return (values) => values[place];
  }
  const [operation, ...parts] = expression;
  if (operation in CELLS) return CELLS[operation](parts, column);
  const inner = (part) => compile(part, names, { column, hasVectors });
  if (operation in VECTORS) {
    const vector = inner(parts[0]);
    return (values) => VECTORS[operation](vector(values), parts[1]);
  }
  const apply = hasVectors ? entrywise(NUMERIC[operation]) : NUMERIC[operation];
  const [a, b, c] = parts.map(inner);
  if (!b) return (values) => apply(a(values));
  if (!c) return (values) => apply(a(values), b(values));
  return (values) => apply(a(values), b(values), c(values));
}
