// A table from text: what bneuralt.tables.csv_files does. Cells stay text.
import { CSV } from "./recipe.js";
import { toNumber } from "./texts.js";

export class TableError extends Error {}

/** Return the text of a file. */
export function decode(bytes) {
  const start = new Uint8Array(bytes, 0, Math.min(3, bytes.byteLength));
  const utf16 = start[0] === 0xff && start[1] === 0xfe ? "utf-16le" : start[0] === 0xfe && start[1] === 0xff ? "utf-16be" : null;
  let text;
  try {
    text = new TextDecoder(utf16 ?? "utf-8", { fatal: true }).decode(bytes);
  } catch {
    text = new TextDecoder("windows-1252").decode(bytes);
  }
  if (text.includes("\0")) throw new TableError("This is not a text file: save the table as CSV first.");
  return text;
}

/** Call `take(cells, line)` for each record; in strict mode, a text must end after its closing quote. */
function records(text, delimiter, isStrict, take) {
  if (!text.includes('"') && delimiter !== " ") {
    let line = 0;
    for (const record of text.split(/\r\n|\r|\n/)) {
      line++;
      if (record !== "") take(record.split(delimiter), line);
    }
    return;
  }
  let cells = [], cell = "", state = "start", line = 1;
  const endRecord = () => {
    if (state !== "start" || cells.length) cells.push(cell);
    if (cells.length) take(cells, line);
    cells = [];
    cell = "";
    state = "start";
  };
  const endCell = () => {
    cells.push(cell);
    cell = "";
    state = "start";
  };
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    const isEnd = c === "\n" || c === "\r";
    if (state === "quoted") {
      if (c === '"') state = "after";
      else cell += c;
      if (c === "\n") line++;
      continue;
    }
    if (state === "after" && c === '"') {
      cell += '"';
      state = "quoted";
    } else if (isEnd) {
      if (c === "\r" && text[i + 1] === "\n") i++;
      endRecord();
      line++;
    } else if (state === "start" && c === '"') state = "quoted";
    else if (state === "start" && c === " ") continue;
    else if (c === delimiter) endCell();
    else if (state === "after" && isStrict) {
      throw new TableError(`Line ${line} cannot be read: there is “${c}” after a closing quotation mark.`);
    } else {
      cell += c;
      state = "plain";
    }
  }
  if (state === "quoted" && isStrict) throw new TableError(`Line ${line} cannot be read: a quotation mark is not closed.`);
  if (state !== "start" || cells.length) endRecord();
}

function guessDelimiter(text) {
  let end = 0;
  for (let n = 0; n < 50 && end < text.length; n++) {
    const next = /\r\n|\r|\n/g;
    next.lastIndex = end;
    const match = next.exec(text);
    end = match ? match.index + match[0].length : text.length;
  }
  const sample = text.slice(0, end);
  let best = ",", bestShare = 0;
  for (const delimiter of CSV.DELIMITERS) {
    const widths = new Map();
    let total = 0;
    records(sample, delimiter, false, (cells) => {
      widths.set(cells.length, (widths.get(cells.length) ?? 0) + 1);
      total++;
    });
    let width = 0, count = 0;
    for (const [w, n] of widths) if (n > count) [width, count] = [w, n];
    if (width > 1 && count / Math.max(1, total) > bestShare) [best, bestShare] = [delimiter, count / total];
  }
  return best;
}

/**
 * Return a table: names, and for each column the different cells and the position of each cell.
 *
 * `hasHeader` null: decided by the first row.
 */
export function parseCsv(text, hasHeader = null) {
  text = text.replace(/^\ufeff/, "");
  const delimiter = guessDelimiter(text.slice(0, CSV.SAMPLE));
  let names = null, columns, nRows = 0, lastFilled = 0;
  const add = (cells) => {
    for (let j = 0; j < columns.length; j++) {
      const { codes, places, texts } = columns[j];
      let place = places.get(cells[j]);
      if (place === undefined) {
        place = texts.push(cells[j]) - 1;
        places.set(cells[j], place);
      }
      codes.push(place);
    }
    nRows++;
    if (cells.some(Boolean)) lastFilled = nRows;
  };
  records(text, delimiter, true, (raw, line) => {
    const cells = raw.map((cell) => cell.trim());
    if (cells.length === 1 && cells[0] === "") return;
    if (names === null) {
      hasHeader ??= cells.some(Boolean) && !cells.some((cell) => toNumber(cell) !== null);
      names = cells.map((cell, j) => (hasHeader && cell) || `column${j + 1}`);
      const twice = names.find((name, j) => names.indexOf(name) !== j);
      if (twice !== undefined) throw new TableError(`“${twice}” is the name of several columns: make the names unique.`);
      columns = names.map(() => ({ codes: [], places: new Map(), texts: [] }));
      if (hasHeader) return;
    }
    if (cells.length !== names.length) {
      if (cells.length < names.length || cells.slice(names.length).some(Boolean)) {
        throw new TableError(
          `Line ${line} has ${cells.length} cells, but the ${hasHeader ? "header" : "first line"} has ${names.length}: correct the line.`,
        );
      }
      cells.length = names.length;
    }
    add(cells);
  });
  if (names === null) throw new TableError("There is no table in it: it is empty.");
  if (!lastFilled) throw new TableError("There are no rows below the header.");
  return {
    names,
    hasHeader,
    nRows: lastFilled,
    columns: columns.map(({ codes, texts }) => ({ codes: Int32Array.from(codes.slice(0, lastFilled)), texts })),
  };
}
