// The curve of a column below its field, with the place of the row.
import { daysOf, endsOf } from "./effects.js";
import { svgElement } from "./elements.js";
import { number, shorten } from "./format.js";

const CHART_HEIGHT = 44, LABEL = 12, PER_CHARACTER = 5.6,  EDGE = 8, CHART_TOP = 4, GAP_ROOM = 18, WIDEST_BAR = 9;

/**
 * Draw the curve of a column.
 *
 * `curve` has the `cells`, what the model predicts there for the row (`own`) and in the mean of
 * typical rows (`mean`, or null), the prediction without a value (`gap`, or null), the `value` of
 * the row, what it predicts `now`, and `text`, a function that writes a prediction. `scale` has the
 * `low` and the `high` prediction of all columns, so that curves can be compared.
 */
export function drawEffect(chart, column, curve, scale) {
  const { cells, own, mean, gap, value, now, text } = curve;
  const width = chart.clientWidth || 240, right = width - EDGE - (gap === null ? 0 : GAP_ROOM);
  const y = (p) => CHART_TOP + (CHART_HEIGHT - 2 * CHART_TOP) * (1 - (p - scale.low) / (scale.high - scale.low || 1));
  const x = placesOf(column, value, cells, right);
  const points = (list) => cells.map((cell, i) => [x(cell, i), y(list[i])]);
  const parts = [polyline([[EDGE, y(now)], [right, y(now)]], "level")];
  const draw = column.reads === "lookup" ? barsOf : areas;
  parts.push(...draw(points(own), y(now), right), ...(mean ? marks(column, points(mean), right) : []));
  if (column.reads !== "lookup") parts.push(...outline(column, cells, points(own), x));
  const at = placeOfRow(column, cells, value, x);
  if (gap !== null) {
    parts.push(svgElement("circle", { cx: width - EDGE - 2, cy: y(gap), r: 3, class: `gap ${y(gap) > y(now) ? "negative" : "positive"}` }, "", "without a value"));
    if (value === null) parts.push(rowDot(width - EDGE - 2, y(now)));
  }
  if (value !== null && at !== null) parts.push(rowDot(at, y(now)));
  const labels = column.reads === "lookup" ? labelsOf(cells, x, (right - EDGE) / cells.length) : [];
  const height = CHART_HEIGHT + (labels.length ? LABEL : 0);
  chart.style.height = `${height}px`;
  chart.setAttribute("viewBox", `0 0 ${width} ${height}`);
  chart.setAttribute("aria-label", effectText(column, curve, text));
  chart.replaceChildren(...parts, ...labels);
}

/** Return a function from a cell and its position to its place from left to right. */
function placesOf(column, value, cells, right) {
  if (column.reads === "lookup") return (_, i) => EDGE + ((right - EDGE) * (i + 0.5)) / cells.length;
  const toNumber = column.reads === "number" ? Number : (text) => daysOf(text, column);
  const [low, high] = column.reads === "number" ? endsOf(column, value) : [toNumber(cells[0]), toNumber(cells.at(-1))];
  return (cell) => EDGE + ((right - EDGE) * (toNumber(cell) - low)) / (high - low);
}

function placeOfRow(column, cells, value, x) {
  if (column.reads === "number" || value === null) return value === null ? null : x(value);
  if (column.reads === "date_part") return Math.min(Math.max(x(value), x(cells[0])), x(cells.at(-1)));
  const at = cells.indexOf(String(value));
  return at < 0 ? null : x(value, at);
}

/** Return the areas between a curve and the prediction: what a change would add, and what it would take. */
function areas(points, level) {
  const area = (name, nearer) => {
    const edge = points.map(([x, y]) => [x, nearer(y, level)]);
    return svgElement("polygon", { points: pointsText([[points[0][0], level], ...edge, [points.at(-1)[0], level]]), class: `area ${name}` });
  };
  return [area("positive", Math.min), area("negative", Math.max)];
}

function barsOf(points, level, right) {
  const width = Math.min(WIDEST_BAR, (0.6 * (right - EDGE)) / points.length);
  return points.map(([x, y]) =>
    svgElement("rect", { x: x - width / 2, width, y: Math.min(y, level), height: Math.max(1, Math.abs(y - level)), class: `area ${y > level ? "negative" : "positive"}` }),
  );
}

/** Return the names of categories, if there is room for at least some characters of each. */
function labelsOf(cells, x, room) {
  const length = Math.floor(room / PER_CHARACTER);
  if (length < 4) return [];
  return cells.map((cell, i) => svgElement("text", { x: x(cell, i), y: CHART_HEIGHT + LABEL - 3, class: "tick", "text-anchor": "middle" }, shorten(cell, length)));
}

/** Return the mean of typical rows: a line, or a mark for each category. */
function marks(column, points, right) {
  if (column.reads !== "lookup") return [polyline(points, "mean")];
  const half = Math.min(WIDEST_BAR, (0.6 * (right - EDGE)) / points.length) / 2 + 1;
  return points.map(([x, y]) => polyline([[x - half, y], [x + half, y]], "mean"));
}

/** Return the curve itself, dashed and shaded where there were no training rows. */
function outline(column, cells, points, x) {
  if (column.reads === "date_part") return [polyline(points, "own")];
  const [low, high] = column.range, parts = [];
  for (const [name, isInside] of [["own", (c) => c >= low && c <= high], ["own beyond", (c) => c <= low], ["own beyond", (c) => c >= high]]) {
    const some = points.filter((_, i) => isInside(cells[i]));
    if (some.length < 2) continue;
    if (name !== "own") parts.push(svgElement("rect", { x: some[0][0], width: some.at(-1)[0] - some[0][0], y: 0, height: CHART_HEIGHT, class: "untrained" }));
    parts.push(polyline(some, name));
  }
  for (const bound of column.bounds ?? []) if (bound >= cells[0] && bound <= cells.at(-1)) parts.push(polyline([[x(bound), 0], [x(bound), CHART_HEIGHT]], "bound"));
  return parts;
}

const pointsText = (points) => points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
const polyline = (points, name) => svgElement("polyline", { points: pointsText(points), class: name });
const rowDot = (x, y) => svgElement("circle", { cx: x, cy: y, r: 4, class: "row-place" });

function effectText(column, { cells, own, now, value }, text) {
  const least = own.indexOf(Math.min(...own)), most = own.indexOf(Math.max(...own));
  const name = (cell) => (typeof cell === "number" ? number(cell) : cell);
  return `${column.name}: ${text(own[least])} at ${name(cells[least])}, ${text(own[most])} at ${name(cells[most])}; this row ${value === null ? "without a value" : ""} ${text(now)}`;
}
