// Columns as inputs of trees: what bneuralt.tables.features, bends, sentinels and gaps do.
import { BENDS, CATEGORIES, FEATURES, GAPS, SENTINELS } from "./recipe.js";
import { DATE_PARTS, gapWords, isoText, Notation, parseDates } from "./texts.js";
import { TableError } from "./csv.js";

const OPTIONAL = new Set(FEATURES.OPTIONAL);
const IDENTITY = [0, 1, -Infinity, Infinity];

// -- statistics ---------------------------------------------------------------------------

const ascending = (values) => Float64Array.from(values).sort();

/** Return the position of the first number that is not below x. */
function firstNotBelow(sorted, x) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Round halves to even, as Python does. */
export function round(x) {
  const down = Math.floor(x), rest = x - down;
  return rest < 0.5 || (rest === 0.5 && down % 2 === 0) ? down : down + 1;
}

/** Return the mean, rounded to a millionth of the span. */
export function roundedMean(values) {
  if (!values.length) return 0;
  let low = Infinity, high = -Infinity;
  for (const x of values) {
    if (x < low) low = x;
    if (x > high) high = x;
  }
  const span = high - low, unit = span > 0 && span < Infinity ? span : 1;
  let total = 0;
  for (const x of values) total += (x - low) / unit;
  const mean = low + (unit * total) / values.length;
  if (!(span > 0 && span < Infinity)) return low;
  const power = Math.max(Math.floor(Math.log10(span)) - 6, -300), step = Number(`1e${power}`);
  const rounded = step >= 1 ? round(mean / step) * step : round(mean / step) / round(1 / step);
  return Number.isFinite(rounded) ? rounded : mean;
}

/** Return the probability that a chi-squared number exceeds x: the upper incomplete gamma function. */
export function chiSquaredTail(degrees, x) {
  const a = degrees / 2, z = x / 2;
  if (!(z > 0)) return 1;
  const scale = Math.exp(-z + a * Math.log(z) - logGamma(a));
  if (z < a + 1) {
    let term = 1 / a, total = term;
    for (let n = 1; n < 10000 && Math.abs(term) > 1e-17 * Math.abs(total); n++) total += term *= z / (a + n);
    return 1 - total * scale;
  }
  let b = z + 1 - a, c = 1e300, d = 1 / b, h = d;
  for (let i = 1; i < 10000; i++) {
    const an = -i * (i - a);
    b += 2;
    d = 1 / (an * d + b || 1e-300);
    c = b + an / c || 1e-300;
    h *= d * c;
    if (Math.abs(d * c - 1) < 1e-16) break;
  }
  return scale * h;
}

function logGamma(x) {
  const g = [76.18009172947146, -86.50532032941677, 24.01409824083091, -1.231739572450155, 0.001208650973866179, -0.000005395239384953];
  let total = 1.000000000190015;
  g.forEach((factor, i) => (total += factor / (x + 1 + i)));
  const t = x + 5.5;
  return (x + 0.5) * Math.log(t) - t + Math.log((2.5066282746310005 * total) / x);
}

// -- gaps, sentinels, limits and ramps ----------------------------------------------------

/** Return whether the target differs between rows with and without a value. */
function gapsAreInformative(gaps, target) {
  const n = gaps.length;
  let nGaps = 0;
  for (const gap of gaps) nGaps += gap;
  const share = nGaps / n;
  if (!(share > 0 && share < 1)) return false;
  if (target.labels) {
    const members = new Float64Array(target.nClasses), observed = new Float64Array(target.nClasses);
    target.labels.forEach((label, i) => {
      members[label]++;
      observed[label] += gaps[i];
    });
    let statistic = 0, nPresent = 0;
    members.forEach((count, k) => {
      if (!count) return;
      nPresent++;
      statistic += (observed[k] - share * count) ** 2 / (share * count);
    });
    return chiSquaredTail(Math.max(1, nPresent - 1), statistic / (1 - share)) < GAPS.SIGNIFICANCE;
  }
  let mean = 0, variance = 0, covariance = 0;
  for (const y of target.values) mean += y / n;
  target.values.forEach((y, i) => {
    variance += (y - mean) ** 2 / n;
    if (gaps[i]) covariance += (y - mean) / n;
  });
  const square = variance > 0 ? covariance ** 2 / variance / (share * (1 - share)) : 0;
  return chiSquaredTail(1, n * square) < GAPS.SIGNIFICANCE;
}

function learnGaps(gaps, target) {
  if (!gaps.includes(1)) return { has_gaps: false, ignores_gaps: false };
  const has_gaps = gapsAreInformative(gaps, target);
  return { has_gaps, ignores_gaps: !has_gaps };
}

/** Return the numbers that stand for missing values, in ascending order. */
function findSentinels(values, mayBeFrequent = false) {
  const n = values.length;
  if (!n) return [];
  const sorted = ascending(values);
  const [low0, first, middle, third, high0] = [0, n >> 2, n >> 1, Math.floor((3 * n) / 4), n - 1].map((i) => sorted[i]);
  const spread = Math.min(third - middle, middle - first);
  if (!(Math.max(high0 - middle, middle - low0) > 4 * spread)) return [];
  const numbers = [], counts = [];
  for (const x of sorted) {
    if (numbers.length && numbers.at(-1) === x) counts[counts.length - 1]++;
    else {
      numbers.push(x);
      counts.push(1);
    }
  }
  const least = Math.max(SENTINELS.FEWEST_ROWS, SENTINELS.SMALLEST_SHARE * n);
  const isSentinel = (i, low, high) => {
    if (counts[i] < least || numbers[i] === 0) return false;
    const isNines = /^9+(\.9+)?$/.test(String(Number(Math.abs(numbers[i]).toPrecision(15))));
    if (!mayBeFrequent && !isNines && !SENTINELS.USUAL_CODES.includes(numbers[i])) {
      let total = 0;
      for (let k = low; k <= high; k++) total += counts[k];
      if (counts[i] / total > SENTINELS.LARGEST_SHARE || high - low < SENTINELS.FEWEST_OTHERS_OF_UNUSUAL) return false;
    }
    const [from, to] = i === low ? [low + 1, high] : [low, high - 1];
    const span = numbers[to] - numbers[from];
    const distance = i === low ? numbers[from] - numbers[i] : numbers[i] - numbers[to];
    return Number.isFinite(distance) && distance > (isNines ? SENTINELS.FAR_FOR_NINES : SENTINELS.FAR) * span;
  };
  const found = [];
  let low = 0, high = numbers.length - 1;
  while (found.length < SENTINELS.MOST_SENTINELS && high - low >= SENTINELS.FEWEST_OTHERS) {
    const end = [low, high].find((i) => isSentinel(i, low, high));
    if (end === undefined) break;
    found.push(numbers[end]);
    if (end === low) low++;
    else high--;
  }
  return found.sort((a, b) => a - b);
}

/** Return the limits and the ramps of the numbers of a column. */
function learnBends(values, nRamps) {
  const n = values.length, sorted = ascending(values);
  const different = [], shares = [];
  for (let i = 0; i < n; i++) {
    if (i + 1 < n && sorted[i + 1] === sorted[i]) continue;
    different.push(sorted[i]);
    shares.push((i + 1) / n);
  }
  if (different.length <= 2) return { limits: null, ramps: [] };
  const quantile = (share) => different[Math.min(firstNotBelow(shares, share - 1e-9), different.length - 1)];
  const [low, middle, high] = [0.25, 0.5, 0.75].map(quantile);
  let spread = high - low;
  if (spread === 0) {
    const away = ascending(different.filter((x) => x !== middle).map((x) => Math.abs(x - middle)));
    spread = (away[(away.length - 1) >> 1] + away[away.length >> 1]) / 2;
  }
  const limits = [middle - BENDS.LIMIT * spread, middle + BENDS.LIMIT * spread];
  return {
    limits: limits.every(Number.isFinite) && limits[0] < limits[1] ? limits : null,
    ramps: nRamps ? learnRamps(different, shares, quantile, nRamps) : [],
  };
}

function learnRamps(different, shares, quantile, nRamps) {
  let knots = different;
  if (different.length > nRamps + 1) {
    const inner = Array.from({ length: nRamps - 1 }, (_, i) => quantile((i + 1) / nRamps));
    knots = [...new Set([different[0], ...inner, different.at(-1)])].sort((a, b) => a - b);
  }
  const means = new Float64Array(knots.length - 1);
  different.forEach((x, i) => {
    const at = Math.min(Math.max(firstNotBelow(knots, x) - 1, 0), means.length - 1);
    const rise = Math.min(Math.max((x - knots[at]) / (knots[at + 1] - knots[at]), 0), 1);
    means[at] += (shares[i] - (i ? shares[i - 1] : 0)) * rise;
  });
  const ramps = [];
  means.forEach((mean, i) => {
    const [start, end] = [knots[i], knots[i + 1]], width = end - start;
    const total = mean + (1 - shares[firstNotBelow(different, end)]);
    if (width > 1e-300 && width < Infinity && 1 / width > 0 && Number.isFinite(total)) ramps.push([start, end, total]);
  });
  return ramps.length > 1 ? ramps : [];
}

// -- kinds --------------------------------------------------------------------------------

/** Return a description as JSON has it: entries that are optional are left out if they are empty. */
function plain(kind, entries) {
  const kept = Object.entries(entries).filter(([key, value]) => !OPTIONAL.has(key) || (Array.isArray(value) ? value.length : value));
  return { kind, ...Object.fromEntries(kept) };
}

class NumberFeature {
  constructor(entries, range) {
    Object.assign(this, entries);
    this.range = range;
    const number = this.limits ? [0, 1, ...this.limits] : IDENTITY;
    const ramps = this.ramps.map(([start, end]) => [start, 1 / (end - start), 0, 1]);
    this.lines = [[number, ...ramps], ...(this.has_gaps ? [[IDENTITY]] : [])];
    this.drawn = [true, ...ramps.map(() => false), ...(this.has_gaps ? [true] : [])];
    this.signs = [1, ...ramps.map(() => 1), ...(this.has_gaps ? [0] : [])]; // of the effect of a rising column
  }

  kind = "number";
  isOneHot = false;

  get passesNumbers() {
    return !this.has_gaps && !this.sentinels.length;
  }

  /** Return the description of a column of training rows; null if its values are not all numbers. */
  static learn(column, rows, target, nRamps) {
    let notation = null, all = column.values;
    if (column.isCategory) return null;
    if (column.kind === "text") {
      const { texts, counts } = usedTexts(column, rows);
      notation = column.notation ?? Notation.learn(texts, counts);
      if (!notation) return null;
      all = readTexts(column, notation);
    }
    let values = taken(all, rows);
    let present = values.filter((x) => !Number.isNaN(x));
    const sentinels = findSentinels(present);
    if (sentinels.length) {
      values = values.map((x) => (sentinels.includes(x) ? NaN : x));
      present = values.filter((x) => !Number.isNaN(x));
    }
    const gaps = learnGaps(Uint8Array.from(values, (x) => (Number.isNaN(x) ? 1 : 0)), target);
    const { limits, ramps } = present.length ? learnBends(present, nRamps) : { limits: null, ramps: [] };
    const limited = limits ? present.map((x) => Math.min(Math.max(x, limits[0]), limits[1])) : present;
    if (notation?.isPlain) notation = null;
    const entries = { mean: roundedMean(limited), ...gaps, notation, limits, ramps, sentinels };
    return new NumberFeature(entries, present.length ? ends(present) : null);
  }

  /** Return the numbers of a column: those themselves, and where there are gaps. */
  read(column) {
    const values = column.kind === "text" ? readTexts(column, this.notation ?? new Notation()) : column.values;
    if (!this.sentinels.length) return values;
    return values.map((x) => (this.sentinels.includes(x) ? NaN : x));
  }

  write(column, out, first, width) {
    const values = this.read(column);
    for (let i = 0, at = first; i < values.length; i++, at += width) {
      const isGap = Number.isNaN(values[i]);
      out[at] = isGap ? this.mean : values[i];
      if (this.has_gaps) out[at + 1] = isGap ? 1 : 0;
    }
  }

  toPlain() {
    const { mean, has_gaps, ignores_gaps, notation, limits, ramps, sentinels } = this;
    const isStraight = !notation && !limits && !ramps.length && !sentinels.length && !has_gaps && !ignores_gaps;
    return isStraight ? mean : plain("number", { mean, has_gaps, ignores_gaps, notation: notation && { ...notation }, limits, ramps, sentinels });
  }
}

class DateFeature {
  constructor(entries, range) {
    Object.assign(this, entries);
    this.range = range;
    const n = this.parts.length + (this.has_gaps ? 1 : 0);
    this.lines = Array(n).fill([IDENTITY]);
    this.drawn = Array(n).fill(true);
    this.signs = Array(n).fill(null);
  }

  kind = "date";
  isOneHot = false;
  passesNumbers = false;

  static learn(column, rows, target) {
    if (column.kind !== "text" || column.isCategory) return null;
    const { texts, counts } = usedTexts(column, rows);
    const gap_words = gapWords(texts, counts) ?? [];
    const isDate = (text) => !gap_words.includes(text);
    const parsed = parseDates(texts.filter(isDate));
    if (!parsed) return null;
    const day_first = (parseDates(column.texts.filter(isDate)) ?? parsed).dayFirst;
    const dates = taken(readDates(column, day_first), rows), sentinels = sentinelYears(dates);
    const values = withoutYears(dates, sentinels), present = values.filter((x) => !Number.isNaN(x));
    const parts = [], means = [];
    for (const [name, part] of Object.entries(DATE_PARTS)) {
      const numbers = present.map(part), [low, high] = ends(numbers);
      if (!(low < high)) continue;
      parts.push(name);
      means.push(roundedMean(numbers));
    }
    const gaps = learnGaps(Uint8Array.from(values, (x) => (Number.isNaN(x) ? 1 : 0)), target);
    const range = present.length ? ends(present).map(isoText) : null;
    return new DateFeature({ parts, means, has_gaps: gaps.has_gaps, day_first, ignores_gaps: gaps.ignores_gaps, gap_words, sentinels }, range);
  }

  write(column, out, first, width) {
    const dates = withoutYears(readDates(column, this.day_first), this.sentinels);
    for (let i = 0, at = first; i < dates.length; i++, at += width) {
      const isGap = Number.isNaN(dates[i]);
      this.parts.forEach((part, k) => (out[at + k] = isGap ? this.means[k] : DATE_PARTS[part](dates[i])));
      if (this.has_gaps) out[at + this.parts.length] = isGap ? 1 : 0;
    }
  }

  toPlain() {
    const { parts, means, has_gaps, day_first, ignores_gaps, gap_words, sentinels } = this;
    return plain("date", { parts, means, has_gaps, day_first, ignores_gaps, gap_words, sentinels });
  }
}

/** Return the years whose dates stand for missing values, such as 9999. */
function sentinelYears(dates) {
  const present = dates.filter((x) => !Number.isNaN(x));
  const repeated = new Set(findSentinels(present.map(DATE_PARTS.elapsed), true)), years = new Set(), others = new Set();
  for (const x of present) (repeated.has(DATE_PARTS.elapsed(x)) ? years : others).add(DATE_PARTS.year(x));
  return [...years].some((year) => others.has(year)) ? [] : [...years].sort((a, b) => a - b);
}

const withoutYears = (dates, years) => (years.length ? dates.map((x) => (years.includes(DATE_PARTS.year(x)) ? NaN : x)) : dates);

class CategoryFeature {
  constructor(entries) {
    Object.assign(this, entries);
    const n = this.shares.length > 2 ? this.shares.length : Math.max(0, this.shares.length - 1);
    this.lines = Array(n).fill([IDENTITY]);
    this.drawn = Array(n).fill(true);
    this.signs = Array(n).fill(null);
  }

  kind = "category";
  isOneHot = true;
  passesNumbers = false;
  range = null;

  static learn(column, rows) {
    const text = column.kind === "text" ? column : asText(column);
    const counts = new Float64Array(text.texts.length);
    let nMissing = 0;
    for (const row of rows) {
      if (text.codes[row] < 0) nMissing++;
      else counts[text.codes[row]]++;
    }
    const total = rows.length, { texts } = text;
    const present = texts.map((_, i) => i).filter((i) => counts[i] > 0);
    present.sort((a, b) => counts[b] - counts[a] || (texts[a] < texts[b] ? -1 : 1));
    const least = Math.max(CATEGORIES.FEWEST_ROWS, Math.min(CATEGORIES.SMALLEST_SHARE * total, CATEGORIES.ENOUGH_ROWS));
    const hasGaps = nMissing > 0, gap = hasGaps ? 1 : 0;
    let frequent = present.filter((i) => counts[i] >= least);
    if (present.length > frequent.length || frequent.length > CATEGORIES.MOST_CATEGORIES - gap) {
      frequent = frequent.slice(0, CATEGORIES.MOST_CATEGORIES - 1 - gap);
    }
    const rest = present.slice(frequent.length);
    frequent.sort((a, b) => (texts[a] < texts[b] ? -1 : 1));
    const shares = frequent.map((i) => counts[i] / total);
    if (rest.length) shares.push(rest.reduce((sum, i) => sum + counts[i], 0) / total);
    if (hasGaps) shares.push(nMissing / total);
    const rare = rest.length <= CATEGORIES.MOST_RARE_VALUES ? rest.map((i) => texts[i]).sort() : null;
    return new CategoryFeature({ categories: frequent.map((i) => texts[i]), shares, rare, has_gaps: hasGaps });
  }

  get hasOther() {
    return this.rare === null || this.rare.length > 0;
  }

  write(column, out, first, width) {
    const text = column.kind === "text" ? column : asText(column);
    const nEntries = this.shares.length, nInputs = this.lines.length;
    const entry = new Map(this.categories.map((category, i) => [category, i]));
    const unknown = this.hasOther ? this.categories.length : nEntries;
    const places = text.texts.map((label) => entry.get(label) ?? unknown);
    const missing = this.has_gaps ? nEntries - 1 : nEntries;
    for (let i = 0, at = first; i < text.codes.length; i++, at += width) {
      const place = text.codes[i] < 0 ? missing : places[text.codes[i]];
      for (let k = 0; k < nInputs; k++) {
        const e = nEntries - nInputs + k;
        out[at + k] = place === nEntries ? this.shares[e] : place === e ? 1 : 0;
      }
    }
  }

  toPlain() {
    const { categories, shares, rare, has_gaps } = this;
    return plain("category", { categories, shares, rare, has_gaps });
  }
}

const KINDS = [NumberFeature, DateFeature, CategoryFeature];

// -- helpers ------------------------------------------------------------------------------

function taken(values, rows) {
  const part = new Float64Array(rows.length);
  for (let i = 0; i < rows.length; i++) part[i] = values[rows[i]];
  return part;
}

function ends(values) {
  let low = Infinity, high = -Infinity;
  for (const x of values) {
    if (x < low) low = x;
    if (x > high) high = x;
  }
  return [low, high];
}

function usedTexts(column, rows) {
  const counts = new Float64Array(column.texts.length);
  for (const row of rows) if (column.codes[row] >= 0) counts[column.codes[row]]++;
  const used = column.texts.map((_, i) => i).filter((i) => counts[i] > 0);
  return { texts: used.map((i) => column.texts[i]), counts: used.map((i) => counts[i]) };
}

function readTexts(column, notation) {
  const numbers = column.texts.map((text) => notation.read(text));
  return Float64Array.from(column.codes, (code) => (code < 0 ? NaN : numbers[code]));
}

function readDates(column, dayFirst) {
  const dates = column.texts.map((text) => parseDates([text], dayFirst)?.dates[0] ?? NaN);
  return Float64Array.from(column.codes, (code) => (code < 0 ? NaN : dates[code]));
}

/** Return a column of numbers as one of texts. */
function asText(column) {
  const distinct = [...new Set(column.values)].filter((x) => !Number.isNaN(x)).sort((a, b) => a - b);
  const place = new Map(distinct.map((x, i) => [x, i]));
  return { kind: "text", texts: distinct.map(String), codes: Int32Array.from(column.values, (x) => place.get(x) ?? -1) };
}

// -- the encoder --------------------------------------------------------------------------

/** How columns become numbers, and numbers inputs of trees. */
export class Encoder {
  constructor(features, names) {
    this.features = features;
    this.names = names;
    this.first = [0]; // the first number of each column
    const lines = [], firstLine = [0], groups = [], drawn = [], signs = [];
    features.forEach((feature, j) => {
      this.first.push(this.first[j] + feature.lines.length);
      for (const ofNumber of feature.lines) {
        lines.push(...ofNumber);
        firstLine.push(lines.length);
      }
      groups.push(...feature.drawn.map(() => j));
      drawn.push(...feature.drawn);
      signs.push(...feature.signs);
    });
    this.width = this.first.at(-1);
    this.nInputs = lines.length;
    this.lineStart = Int32Array.from(firstLine);
    // offset, factor, low and high of all inputs
    this.lines = Float64Array.from({ length: 4 * lines.length }, (_, i) => lines[i % lines.length][Math.floor(i / lines.length)]);
    this.groups = Int32Array.from(groups);
    this.drawn = drawn;
    this.signs = signs;
  }

  /** Learn how the columns of the training rows become inputs. */
  static learn(columns, names, rows, target, nRamps) {
    const features = columns.map((column) => {
      for (const kind of KINDS) {
        const feature = kind.learn(column, rows, target, nRamps);
        if (feature) return feature;
      }
    });
    const encoder = new Encoder(features, names);
    if (!encoder.nInputs) throw new TableError("No column varies in the training rows: there is nothing to learn from.");
    return encoder;
  }

  /** Return the numbers of all rows, of which the inputs are lines. */
  numbers(columns, nRows) {
    const out = new Float64Array(nRows * this.width);
    this.features.forEach((feature, j) => feature.write(columns[j], out, this.first[j], this.width));
    return out;
  }

  /** Return the inputs of trees. */
  inputs(numbers) {
    const n = this.nInputs, nRows = numbers.length / this.width, out = new Float64Array(nRows * n);
    for (let c = 0; c < this.width; c++) {
      for (let i = this.lineStart[c]; i < this.lineStart[c + 1]; i++) {
        const offset = this.lines[i], factor = this.lines[n + i], low = this.lines[2 * n + i], high = this.lines[3 * n + i];
        for (let r = 0; r < nRows; r++) {
          const x = (numbers[r * this.width + c] - offset) * factor;
          out[r * n + i] = x < low ? low : x > high ? high : x;
        }
      }
    }
    return out;
  }

  get isPlain() {
    return this.features.every((feature) => feature.passesNumbers);
  }

  get oneHot() {
    return this.features.map((feature, j) => (feature.isOneHot ? this.inputsOf(j) : null)).filter(Boolean);
  }

  inputsOf(j) {
    return [...this.groups.keys()].filter((i) => this.groups[i] === j);
  }

  /** Mean number of weights of a leaf, which has one for each category of a feature. */
  get weightsPerLeaf() {
    const more = this.oneHot.reduce((sum, inputs) => sum + (inputs.length ? inputs.length - 1 : 0), 0);
    return 1 + more / Math.max(1, new Set(this.groups).size);
  }

  /** Mean number of inputs that a leaf of a feature has in random trees. */
  get drawnPerFeature() {
    const groups = [...this.groups].filter((_, i) => this.drawn[i]);
    return groups.length / Math.max(1, new Set(groups).size);
  }

  get hasRamps() {
    return this.drawn.includes(false);
  }
}
