// How good predictions are on rows whose target is known.
import { largest } from "./prediction.js";

const TINY = 1e-15, USUAL_NAMES = ["target", "y", "class", "label"];

/** Return the columns that may be the target, the likeliest one first. */
export function targetCandidates(model, names) {
  const features = new Set(model.file?.feature_names ?? model.columns.map((column) => column.name));
  const others = names.filter((name) => !features.has(name));
  const rank = (name) => {
    if (model.file?.target_names?.includes(name)) return 0;
    return USUAL_NAMES.includes(name.toLowerCase()) ? 1 : 2;
  };
  return others.reverse().sort((a, b) => rank(a) - rank(b)); // targets are often the last column
}

/**
 * Return the scores of predictions, as pairs of a name and a number; null if there is nothing to compare.
 *
 * `targets` has the text of each row, or null.
 */
export function scoresOf(model, predictions, targets) {
  return model.task === "classes" || model.task === "scores" ? ofClasses(model, predictions, targets) : ofNumbers(model, predictions, targets);
}

function ofClasses(model, predictions, targets) {
  const place = new Map(model.outputs.map((name, k) => [name, k]));
  let n = 0, right = 0, loss = 0;
  targets.forEach((text, i) => {
    const k = place.get(text ?? "") ?? place.get((text ?? "").replace(/\.0+$/, ""));
    if (k === undefined) return;
    n++;
    right += largest(predictions[i]) === k ? 1 : 0;
    loss -= Math.log(Math.max(TINY, predictions[i][k]));
  });
  if (!n) return null;
  return model.task === "classes" ? [["accuracy", right / n], ["log loss", loss / n]] : [["accuracy", right / n]];
}

function ofNumbers(model, predictions, targets) {
  const quantiles = model.file?.settings.quantiles;
  if (model.task === "labels" || (model.outputs.length > 1 && !quantiles)) return null; // of several targets
  const pairs = targets.map((text, i) => [text === null || text.trim() === "" ? NaN : Number(text), predictions[i]]).filter(([y]) => Number.isFinite(y));
  const n = pairs.length;
  if (!n) return null;
  if (model.outputs.length > 1) {
    const loss = pairs.map(([y, p]) => quantiles.reduce((sum, q, k) => sum + Math.max(q * (y - p[k]), (q - 1) * (y - p[k])), 0) / quantiles.length);
    return [["quantile loss", loss.reduce((a, b) => a + b) / n]];
  }
  const mean = pairs.reduce((sum, [y]) => sum + y, 0) / n;
  const total = pairs.reduce((sum, [y]) => sum + (y - mean) ** 2, 0), rest = pairs.reduce((sum, [y, p]) => sum + (y - p[0]) ** 2, 0);
  const absolute = pairs.reduce((sum, [y, p]) => sum + Math.abs(y - p[0]), 0) / n;
  return [["R²", total ? 1 - rest / total : 0], ["mean absolute error", absolute]];
}
