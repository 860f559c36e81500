// The data of the page of a model, as bneuralt.drawing.page_data makes it of a loaded model file.
import { ACTIVATIONS, DATES, EXPRESSIONS, FEATURES, CATEGORIES, LINKS, REFERENCES } from "./recipe.js";
import { round } from "./features.js";
import { DATE_PARTS, isoText, parseDates } from "./texts.js";

// -- inputs of a column: entry, name, expression, mean, range, and what the form needs -------

const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
const differs = (value, number) => ["greater", ["absolute", ["subtract", value, number]], 0];
const limited = (value, low, high) => ["minimum", ["maximum", value, low], high];

/** Return (value - offset) * factor; Python leaves out what has no effect. */
function line(value, offset, factor) {
  const moved = ["subtract", value, offset];
  return factor === 1 ? moved : ["multiply", moved, factor];
}

/** Return a number as Python writes it with the format g. */
export function general(x, digits = 15) {
  const rounded = Number(x.toPrecision(digits)), exponent = rounded === 0 ? 0 : Math.floor(Math.log10(Math.abs(rounded)) + 1e-12);
  if (exponent >= -5 && exponent < digits && Math.abs(rounded) >= 1e-4) return String(rounded);
  if (rounded === 0) return "0";
  const [mantissa, power] = rounded.toExponential().split("e");
  return `${mantissa}e${power[0]}${power.slice(1).padStart(2, "0")}`;
}

function shortText(x, tolerance) {
  for (let digits = 1; digits < 16; digits++) {
    const rounded = Number(x.toPrecision(digits));
    if (Math.abs(rounded - x) <= tolerance) return general(rounded);
  }
  return String(x);
}

/** Return hours as a time of the day, if it has whole seconds. */
function timeText(hours) {
  const seconds = Math.round(3600 * hours), two = (x) => String(x).padStart(2, "0");
  if (seconds < 0 || Math.abs(seconds - 3600 * hours) > 1e-6) return null;
  const minutes = Math.floor(seconds / 60);
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}` + (seconds % 60 ? `:${two(seconds % 60)}` : "");
}

function gapInput(name, value, sentinels = []) {
  const present = sentinels.reduce((inner, sentinel) => ["select", differs(value, sentinel), inner, 1], 0);
  return { name: `${name} is missing`, expression: ["select", ["is_missing", value], 1, present], mean: 0, range: [0, 1], knots: sentinels, sign: 0 };
}

function numberInputs(feature, name) {
  const { mean, sentinels, limits, ramps, range } = feature, number = ["number"];
  const value = sentinels.reduce((inner, sentinel) => ["select", differs(number, sentinel), inner, mean], ["if_missing", number, mean]);
  const first = { name, expression: value, mean, range, knots: sentinels, sign: 1 };
  if (limits) Object.assign(first, { expression: limited(value, ...limits), range: range && range.map((x) => clamp(x, ...limits)), knots: [...limits, ...sentinels] });
  const width = new Map();
  for (const [start, end] of ramps) for (const x of [start, end]) width.set(x, Math.min(width.get(x) ?? Infinity, end - start));
  const text = (x) => {
    const short = shortText(x, REFERENCES.rounding_of_names * width.get(x));
    return (feature.notation?.is_clock && timeText(Number(short))) || short;
  };
  return [
    first,
    ...ramps.map(([start, end, mean]) => ({
      name: `${name} from ${text(start)} to ${text(end)}`,
      expression: limited(line(value, start, 1 / (end - start)), 0, 1),
      mean,
      range: [0, 1],
      knots: [start, end, ...sentinels],
      sign: 1,
    })),
    ...(feature.has_gaps ? [gapInput(name, number, sentinels)] : []),
  ];
}

function dateInputs(feature, name) {
  const ranges = { ...DATES.PART_RANGES };
  if (feature.range) {
    const { dates } = parseDates(feature.range);
    for (const part of ["year", "elapsed"]) ranges[part] = dates.map(DATE_PARTS[part]);
  }
  const year = ["date_part", "year"], { sentinels } = feature;
  const shown = (part, mean) => sentinels.reduce((inner, sentinel) => ["select", differs(year, sentinel), inner, mean], ["if_missing", ["date_part", part], mean]);
  return [
    ...feature.parts.map((part, i) => ({
      name: (DATES.PART_NAMES[part] ?? `${part} of {}`).replace("{}", () => name),
      expression: shown(part, feature.means[i]),
      mean: feature.means[i],
      range: feature.range ? ranges[part] : null,
      knots: [],
    })),
    ...(feature.has_gaps ? [{ ...gapInput(name, year, sentinels), knots: [] }] : []),
  ];
}

function categoryInputs(feature, name) {
  const { categories, shares, has_gaps, hasOther } = feature, n = categories.length, nEntries = shares.length;
  const entries = [...categories, ...(hasOther ? [CATEGORIES.RARE] : []), ...(has_gaps ? [FEATURES.MISSING] : [])];
  const first = nEntries - feature.lines.length;
  const tables = entries.map((_, e) => {
    const share = shares[e], missing = has_gaps ? Number(e === nEntries - 1) : share;
    if (hasOther && e !== n) return { numbers: new Map(e < n ? [[categories[e], 1]] : []), unknown: 0, missing };
    return { numbers: new Map(categories.map((text, i) => [text, i === e ? 1 : 0])), unknown: hasOther ? 1 : share, missing };
  });
  const listed = [...new Set(tables.slice(first).flatMap(({ numbers }) => [...numbers.keys()]))].sort();
  const inputs = entries.slice(first).map((entry, i) => {
    const { numbers, unknown, missing } = tables[first + i];
    const ofCategory = listed.map((text) => numbers.get(text) ?? unknown);
    const counts = new Map();
    for (const x of ofCategory) counts.set(x, (counts.get(x) ?? 0) + 1);
    let usual = unknown, most = 0;
    for (const [x, count] of counts) if (count > most) [usual, most] = [x, count];
    const others = ofCategory.flatMap((x, c) => (x === usual ? [] : [c, x]));
    const words = entry === CATEGORIES.RARE && first + i >= n ? " is rare" : entry === FEATURES.MISSING && first + i >= n ? " is missing" : `=${entry}`;
    return { name: name + words, expression: ["lookup", unknown, missing, usual, ...others], mean: shares[first + i], range: [0, 1], knots: [] };
  });
  return Object.assign(inputs, { categories: listed });
}

const INPUTS = { number: numberInputs, date: dateInputs, category: categoryInputs };
const READS = { number: "number", date: "date_part", category: "lookup" };

// -- the page --------------------------------------------------------------------------------

class Expressions {
  distinct = [];
  places = new Map();

  place(lists) {
    const key = JSON.stringify(lists);
    if (!this.places.has(key)) this.places.set(key, this.distinct.push(lists) - 1);
    return this.places.get(key);
  }
}

/** Write the mean of an input as a variable; texts and positions stay. */
function withMean(expression, mean) {
  if (typeof expression === "number") return expression === mean ? "mean" : expression;
  if (!Array.isArray(expression)) return expression;
  if (expression[0] === "lookup") {
    return expression.map((part, i) => (i > 0 && (i < 4 || i % 2 === 1) && part === mean ? "mean" : part));
  }
  return expression.map((part) => withMean(part, mean));
}

/** Return the numbers that a cell becomes, one for each input. */
function inputsOfCell(feature, cell) {
  const out = new Float64Array(feature.lines.length);
  feature.write(cell, out, 0, out.length);
  return feature.lines.flatMap((lines, c) => lines.map(([offset, factor, low, high]) => clamp((out[c] - offset) * factor, low, high)));
}

/** Return the cell whose inputs are nearest to their means. */
function typicalCell(feature, inputs) {
  let candidates, cellOf;
  if (feature.kind === "number") {
    candidates = [feature.mean, ...(feature.range ? [(feature.range[0] + feature.range[1]) / 2] : [0])];
    cellOf = (x) => ({ kind: "number", values: Float64Array.of(x) });
  } else if (feature.kind === "date") {
    const [start, end] = parseDates(feature.range).dates;
    candidates = [isoText(start + Math.floor((end - start) / 2))];
    cellOf = (text) => ({ kind: "text", texts: [text], codes: Int32Array.of(0) });
  } else {
    candidates = inputs.categories;
    cellOf = (text) => ({ kind: "text", texts: [text], codes: Int32Array.of(0) });
  }
  let best = null, least = Infinity;
  for (const candidate of candidates) {
    const values = inputsOfCell(feature, cellOf(candidate));
    const distance = inputs.reduce((sum, { mean }, i) => sum + (values[i] - mean) ** 2, 0);
    if (distance < least) [best, least] = [candidate, distance];
  }
  return best;
}

const printable = (text) => String(text).replace(/[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu, " ");
const counted = (n, noun) => `${n.toLocaleString("en-US")} ${noun}${n === 1 ? "" : "s"}`;

/** Return a number with three digits, halves to even as Python rounds them. */
function threeDigits(x) {
  const rounded = Number(x.toPrecision(3)), step = 10 ** (2 - Math.floor(Math.log10(Math.abs(x) || 1))), scaled = x * step;
  return Math.abs(scaled % 1) === 0.5 ? round(scaled) / step : rounded;
}

/** Return the data of the page for the content of a model file. */
export function pageData(file, encoder, trees, { scaling, members }) {
  const isClassifier = file.classes !== null, k = trees[0].k, isForest = trees.length > 1;
  const shownNames = encoder.names.map(printable);
  const described = encoder.features.map((feature, j) => INPUTS[feature.kind](feature, shownNames[j]));
  const all = described.flat(), used = [...new Set(trees.flatMap(({ leafInput }) => [...leafInput]))].sort((a, b) => a - b);
  const shown = [...new Set(used.map((i) => encoder.groups[i]))];
  const expressions = new Expressions();
  const columns = shown.map((j) => {
    const feature = encoder.features[j], inputs = described[j], first = encoder.groups.indexOf(j);
    const entries = used.filter((i) => encoder.groups[i] === j).map((i) => inputs[i - first]);
    const column = { name: shownNames[j], reads: READS[feature.kind], typical: typicalCell(feature, inputs) };
    if (feature.range) column.range = feature.range;
    if (inputs.categories?.length) column.categories = inputs.categories;
    if (feature.kind === "date") {
      const read = [...(feature.sentinels.length ? ["year"] : []), ...feature.parts, ...(feature.has_gaps ? ["year"] : [])];
      column.parts = [...new Set(read)];
      column.day_first = feature.day_first;
    }
    if (feature.notation?.reading) column.notation = feature.notation.reading;
    const gaps = feature.notation?.gap_words ?? feature.gap_words ?? [];
    if (gaps.length) column.gaps = gaps;
    const knots = [...new Set(entries.flatMap((entry) => entry.knots))].sort((a, b) => a - b);
    if (knots.length) column.knots = knots;
    if (feature.has_gaps || feature.ignores_gaps) column.has_gaps = true;
    if (feature.kind === "number") {
      column.mean = feature.mean;
      if (feature.sentinels.length) column.sentinels = feature.sentinels;
      if (feature.has_gaps) column.directions = entries.map(({ sign }) => sign);
    }
    column.expressions = entries.map(({ expression, mean }) => expressions.place(withMean(expression, mean)));
    return column;
  });
  const spread = (i) => (scaling.factor[i] ? 1 / scaling.factor[i] : 0);
  const outputs = isClassifier ? file.classes.labels.map(printable) : [printable(file.target_names[0])];
  const codes = [...new Set(trees.flatMap(({ activation }) => [...activation]))].sort((a, b) => a - b);
  const nWeights = trees.reduce((sum, tree) => sum + tree.theta.length, 0);
  return {
    facts: [...(isForest ? [counted(trees.length, "tree")] : []), counted(nWeights, "weight"), counted(shownNames.length, "column"), isClassifier ? `${k} classes` : "1 output"].join(", "),
    task: isClassifier ? "classes" : "numbers",
    outputs,
    inputs: used.map((i) => printable(all[i].name)),
    used,
    means: used.map((i) => all[i].mean),
    spreads: used.map((i) => threeDigits(spread(i))),
    columns,
    n_columns: shownNames.length,
    n_unused: shownNames.length - shown.length,
    activations: Object.fromEntries(codes.map((code) => [ACTIVATIONS[code], { expression: expressions.place(EXPRESSIONS[ACTIVATIONS[code]]), parameters: [] }])),
    trees: file.trees.map(({ tree }) => tree),
    may_decrease: trees.map(() => []),
    output_signs: isClassifier ? (k === 2 ? [-1, 1] : null) : [1],
    constraints: file.settings.monotonic_cst ?? [],
    positions: shown,
    link: expressions.place(LINKS[isClassifier ? "classes" : "numbers"]),
    averages: isClassifier ? "predictions" : "outputs",
    expressions: expressions.distinct,
    history: isForest ? null : [{ train_loss: file.history.train_loss }],
    reference: file.reference,
    examples: null,
    file: restOfFile(file),
  };
}

function restOfFile(file) {
  const { history, reference, ...rest } = file;
  const outdated = Object.fromEntries(REFERENCES.outdated_by_edits.map((key) => [key, null]));
  return { ...rest, ...outdated, trees: file.trees.map(({ tree, ...entry }) => entry) };
}

/** Return the means of all inputs, with which rows are compared. */
export const meanInputs = ({ features, names }) => features.flatMap((feature, j) => INPUTS[feature.kind](feature, names[j]).map(({ mean }) => mean));
