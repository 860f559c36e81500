// The curves of all columns below the fields of the form.
import { drawEffect } from "./effect_charts.js";
import { cellsOf, meanCurve, shownCells } from "./effects.js";
import { number, percent, shorten } from "./format.js";
import { largest } from "./prediction.js";

export class EffectPanel {
  constructor(model, trees, form, byId) {
    Object.assign(this, { model, trees, form, byId });
    this.isShare = model.task === "classes" || model.task === "labels";
    this.text = (p) => (this.isShare ? percent(p) : number(p));
    this.forget();
  }

  /** Drop the curves of typical rows, after the model was edited. */
  forget() {
    this.means = []; // for each column, the mean prediction at each cell
  }

  /** Return the output whose curves are shown: the chosen one, that of the decision, or the second of two. */
  outputOf(prediction, chosen) {
    if (chosen !== null) return chosen;
    if (this.model.task !== "classes" && this.model.task !== "scores") return 0;
    return prediction.length === 2 ? 1 : largest(prediction);
  }

  /** Compute the curves for a row and draw them; pauses often. */
  *draw(inputs, prediction, chosen) {
    const { model, trees, form, byId, text } = this, k = this.outputOf(prediction, chosen);
    const curves = [], values = [...form.values];
    for (const { j, chart } of form.fields) {
      const column = model.columns[j], value = values[j], all = cellsOf(column, value);
      chart.toggleAttribute("hidden", !all);
      if (!all) continue;
      const predicted = (yield* meanCurve(model, trees, j, all, [inputs])).map((of) => of[k]);
      const shown = shownCells(column, all, value, predicted);
      const cells = shown.map((i) => all[i]), own = shown.map((i) => predicted[i]);
      const gap = column.has_gaps ? (yield* meanCurve(model, trees, j, [null], [inputs]))[0][k] : null;
      const mean = model.reference ? (yield* this.meanAt(j, cells)).map((of) => of[k]) : null;
      curves.push([chart, column, { cells, own, mean, gap, value, now: prediction[k], text }]);
    }
    byId("curves").hidden = !curves.length;
    if (!curves.length) return;
    const all = curves.flatMap(([, , { own, mean }]) => [...own, ...(mean ?? [])]);
    const scale = { low: Math.min(...all), high: Math.max(...all) };
    for (const [chart, column, curve] of curves) drawEffect(chart, column, curve, scale);
    byId("curves-output").textContent = `${this.titleOf(k)}, ${text(scale.low)} to ${text(scale.high)}`;
  }

  /** Return the mean prediction of typical rows at some cells; each one is computed once. */
  *meanAt(j, cells) {
    const { model, trees } = this, known = (this.means[j] ??= new Map());
    const fresh = cells.filter((cell) => !known.has(cell));
    if (fresh.length) {
      const means = yield* meanCurve(model, trees, j, fresh, model.reference);
      fresh.forEach((cell, i) => known.set(cell, means[i]));
    }
    return cells.map((cell) => known.get(cell));
  }

  titleOf(k) {
    const { outputs } = this.model;
    return outputs.length === 1 ? "the prediction" : `${this.isShare ? "the probability of " : ""}“${shorten(outputs[k], 40)}”`;
  }
}
