// Cells of a table as a model reads them. The page of a model and exported programs have these functions.

const MISSING = ["", "#n/a", "-nan", "<na>", "?", "n/a", "na", "nan", "null"];

export function isGap(value, gaps) {
  if (value === null || value === undefined || Number.isNaN(value)) return true;
  if (typeof value !== "string") return false;
  const word = value.trim();
  return MISSING.includes(word.toLowerCase()) || word === "None" || gaps.includes(word);
}

function refuseCell(value, name, kind) {
  throw new TypeError(`column ${JSON.stringify(name)}: ${String(value).slice(0, 50)} is not a ${kind}`);
}

function decimalNumber(text) {
  const result = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN;
  return Number.isFinite(result) ? result : NaN;
}

export function readNumber(value, name, gaps = []) {
  if (isGap(value, gaps)) return NaN;
  if (typeof value === "number" || typeof value === "boolean") return Number(value);
  const word = typeof value === "string" ? value.trim().toLowerCase() : "";
  const result = word === "true" ? 1 : word === "false" ? 0 : decimalNumber(word);
  return Number.isNaN(result) ? refuseCell(value, name, "number") : result;
}

export function readAmount(value, name, point, thousands, before, behind, gaps = []) {
  if (isGap(value, gaps)) return NaN;
  if (typeof value === "number" || typeof value === "boolean") return Number(value);
  const plain = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const unit = (text) => (text ? plain(text) : "(?!)");
  const word = String(value).trim().replace(/\s/g, " ");
  const match =
    new RegExp(`^([+-]?) *${unit(before)} *(-?)([\\d.,' ]+)$`).exec(word) ||
    new RegExp(`^([+-]?) *()([\\d.,' ]+?) *${unit(behind)}$`).exec(word) ||
    /^([+-]?) *()([\d.,' ]+(?:e[+-]?\d+)?)$/i.exec(word);
  let digits = match && !(match[1] && match[2]) ? match[3] : "";
  if (thousands && digits.includes(thousands)) {
    const grouped = new RegExp(`^\\d{1,3}(${plain(thousands)}\\d{3})+$`);
    digits = grouped.test(digits.split(point)[0]) ? digits.split(thousands).join("") : "";
  }
  if (point !== "." && digits.includes(point)) {
    digits = digits.includes(".") ? "" : digits.split(point).join(".");
  }
  const result = decimalNumber(digits);
  if (Number.isNaN(result)) refuseCell(value, name, "number");
  return match[1] === "-" || match[2] === "-" ? -result : result;
}

export function readClock(value, name, gaps = []) {
  if (isGap(value, gaps)) return NaN;
  if (typeof value === "number" || typeof value === "boolean") return Number(value);
  const match = /^(\d{1,2}):([0-5]\d)(?::([0-5]\d)(?:\.\d+)?)?$/.exec(String(value).trim());
  if (!match) refuseCell(value, name, "time");
  return Number(match[1]) + Number(match[2]) / 60 + Number(match[3] || 0) / 3600;
}

export function readText(value) {
  if (isGap(value, [])) return "";
  if (typeof value === "boolean") return value ? "True" : "False";
  const word = (Number.isInteger(value) ? BigInt(value) : String(value)).toString().trim();
  return /^[+-]?\d+\.0*$/.test(word) ? word.split(".")[0] : word;
}

export function readDate(value, name, dayFirst, gaps = []) {
  if (isGap(value, gaps)) {
    return { year: NaN, month: NaN, day: NaN, weekday: NaN, hour: NaN, elapsed: NaN };
  }
  let parts = [0, 0, 0, 0];
  if (value instanceof Date) {
    parts = [value.getFullYear(), value.getMonth() + 1, value.getDate(), value.getHours()];
  } else {
    const word = String(value).trim();
    const iso = /^(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?:[ T](\d{1,2}):[0-5]\d.*)?$/s.exec(word);
    const local = /^(\d{1,2})[./-](\d{1,2})[./-](\d{4})(?:[ T](\d{1,2}):[0-5]\d(?::[0-5]\d)?)?$/.exec(word);
    if (iso) parts = iso.slice(1);
    if (local) parts = [local[3], local[dayFirst ? 2 : 1], local[dayFirst ? 1 : 2], local[4]];
  }
  const [year, month, day, hour] = parts.map((part) => Number(part || 0));
  const time = new Date(0);
  time.setUTCFullYear(year, month - 1, day);
  if (year < 1 || hour > 23 || time.getUTCMonth() !== month - 1 || time.getUTCDate() !== day) {
    refuseCell(value, name, "date");
  }
  const days = Math.floor(time.getTime() / 86400000);
  const weekday = (((days + 3) % 7) + 7) % 7;
  return { year, month, day, weekday, hour, elapsed: days + hour / 24 };
}
