// Cells as numbers, dates and words: what bneuralt.tables.numbers, number_texts and columns do.
import { CELLS, CLOCK, CURRENCY, ISO, LOCAL, PARTS, TEXTS } from "./recipe.js";

const MISSING_TEXTS = new Set(CELLS.MISSING_TEXTS);
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const NUMBER_WORD = /^[+-]?(inf|infinity|nan)$/i;
const DIGIT = /[\p{Nd}\u00b2\u00b3\u00b9\u2070\u2074-\u2079\u2080-\u2089]/u;

/** Return whether a text stands for a missing value. */
export const standsForMissing = (text) => MISSING_TEXTS.has(text.toLowerCase()) || text === "None";

/** Return the name of a category; 3 and 3.0 are the same one. */
export const labelOf = (text) => (/^[+-]?\d+\.0*$/.test(text.trim()) ? text.trim().split(".")[0] : text.trim());

const escaped = (mark) => mark.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Return the number in a cell, null if it is not a finite number. */
export function toNumber(cell, decimal = ".", thousands = "") {
  if (thousands && cell.includes(thousands)) {
    const grouped = new RegExp(`^[+-]?\\d{1,3}(${escaped(thousands)}\\d{3})+$`);
    if (!grouped.test(cell.split(decimal)[0])) return null;
    cell = cell.replaceAll(thousands, "");
  }
  if (decimal !== "." && cell.includes(decimal)) cell = cell.includes(".") ? "" : cell.replaceAll(decimal, ".");
  cell = cell.trim();
  if (!NUMBER.test(cell)) return null;
  const value = Number(cell);
  return Number.isFinite(value) ? value : null;
}

/** Return whether texts are numbers of which some have a thousands separator. */
export const hasThousands = (texts, separator = ",") =>
  texts.some((text) => text.includes(separator)) && texts.every((text) => toNumber(text, ".", separator) !== null);

/** Return the texts without a digit if they are so few that they stand for missing values, else null. */
export function gapWords(texts, counts, most = TEXTS.MOST_GAPS) {
  const words = [];
  let share = 0, total = 0;
  for (const count of counts) total += count;
  for (let i = 0; i < texts.length; i++) {
    if (DIGIT.test(texts[i])) continue;
    words.push(texts[i]);
    share += counts[i];
    if (words.length > TEXTS.MOST_GAP_WORDS || NUMBER_WORD.test(texts[i])) return null;
  }
  return share <= most * total ? words.sort() : null;
}

/** Return the number in a text, with its separators, and its unit; null if there is no number. */
function split(text) {
  if (toNumber(text) !== null) return [text, ""];
  if (text.length > TEXTS.LONGEST) return null;
  const match = PARTS.exec(text);
  if (!match) return null;
  const { sign = "", prefix = "", minus = "", digits, suffix = "" } = match.groups;
  if ((prefix && suffix) || (sign && minus)) return null;
  if (prefix && !CURRENCY.test(prefix) && !/^\p{Sc}/u.test(prefix)) return null;
  return [(sign || minus).replace("+", "") + digits.replace(/\s/g, " "), prefix || suffix];
}

export const areCodes = (numbers) => numbers.every((n) => /^\p{Nd}+$/u.test(n)) && numbers.some((n) => n[0] === "0" && n.length > 1);

function hours(text) {
  const match = CLOCK.exec(text);
  return match ? Number(match[1]) + Number(match[2]) / 60 + Number(match[3] ?? 0) / 3600 : null;
}

/** How the texts of a column are numbers. */
export class Notation {
  constructor(decimal = ".", thousands = "", unit = "", is_clock = false, gap_words = []) {
    Object.assign(this, { decimal, thousands, unit, is_clock, gap_words });
  }

  /** Return how texts are numbers; null if they are not, or if they are codes such as 00501. */
  static learn(texts, counts, decimal = ".", mostGaps = TEXTS.MOST_GAPS) {
    const words = gapWords(texts, counts, mostGaps);
    if (words === null || words.length === texts.length) return null;
    const cells = texts.filter((text) => !words.includes(text));
    if (cells.every((cell) => CLOCK.test(cell))) return new Notation(".", "", "", true, words);
    const numbers = [], units = new Set();
    for (const cell of cells) {
      const parts = split(cell);
      if (!parts) return null;
      numbers.push(parts[0]);
      units.add(parts[1]);
    }
    const named = [...units].filter(Boolean);
    if (named.length > 1 || (named[0] === "%" && units.size === 2)) return null;
    if (areCodes(numbers)) return null;
    for (const [point, thousands] of decimal === "." ? TEXTS.WITH_POINT : TEXTS.WITH_COMMA) {
      if (numbers.every((number) => toNumber(number, point, thousands) !== null)) {
        return new Notation(point, thousands, named[0] ?? "", false, words);
      }
    }
    return null;
  }

  get isPlain() {
    return this.decimal === "." && !this.thousands && !this.unit && !this.is_clock && !this.gap_words.length;
  }

  /** How the page of a model reads a cell: null as a plain number; see bneuralt.model.readings. */
  get reading() {
    if (this.is_clock) return ["clock"];
    const { decimal, thousands, unit } = this, mayPrecede = !Number.isNaN(new Notation(".", "", unit).read(`${unit}1`)); // as currencies do
    return decimal === "." && !thousands && !unit ? null : ["amount", decimal, thousands, mayPrecede ? unit : "", unit];
  }

  /** Return the number of a text, NaN for gaps and texts that cannot be read. */
  read(text) {
    if (this.gap_words.includes(text)) return NaN;
    if (this.is_clock) return hours(text) ?? NaN;
    const parts = split(text);
    if (!parts || (parts[1] !== "" && parts[1] !== this.unit)) return NaN;
    return toNumber(parts[0], this.decimal, this.thousands) ?? NaN;
  }
}

// -- dates: seconds since 1970 ------------------------------------------------------------

function seconds(year, month, day, hour = 0, minute = 0, second = 0) {
  if (year < 1 || month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59) return null;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCDate() !== day) return null;
  return date.getTime() / 1000 + hour * 3600 + minute * 60 + Math.floor(second);
}

const ISO_PARTS = /^(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?)?/;

function isoDate(text) {
  const [, ...parts] = ISO_PARTS.exec(text);
  return seconds(...parts.map((part) => Number(part ?? 0)));
}

/** Return the seconds of each text and whether the day is first; null if one is no date. */
export function parseDates(texts, dayFirst = null) {
  if (!texts.length) return null;
  let dates;
  if (texts.every((text) => ISO.test(text))) {
    dates = texts.map(isoDate);
    dayFirst = false;
  } else {
    const matches = texts.map((text) => LOCAL.exec(text));
    if (matches.includes(null)) return null;
    dayFirst ??= !texts.every((text) => text.includes("/")) || matches.some((match) => Number(match[1]) > 12);
    dates = matches.map(([, first, second, year, ...time]) => {
      const [day, month] = dayFirst ? [first, second] : [second, first];
      return seconds(Number(year), Number(month), Number(day), ...time.map((part) => Number(part ?? 0)));
    });
  }
  return dates.includes(null) ? null : { dates, dayFirst };
}

/** The parts of a date, from seconds since 1970. */
export const DATE_PARTS = {
  year: (s) => new Date(s * 1000).getUTCFullYear(),
  month: (s) => new Date(s * 1000).getUTCMonth() + 1,
  day: (s) => new Date(s * 1000).getUTCDate(),
  weekday: (s) => (new Date(s * 1000).getUTCDay() + 6) % 7,
  hour: (s) => new Date(s * 1000).getUTCHours(),
  elapsed: (s) => Math.floor(s / 3600) / 24,
};

export const isoText = (s) => new Date(s * 1000).toISOString().slice(0, 19);
