// The curves of a training as a small chart.
import { element, svgElement } from "./elements.js";
import { number } from "./format.js";

const WIDTH = 300, HEIGHT = 130, LEFT = 44, BOTTOM = 20, TOP = 8;
const CURVES = [["train_loss", "training loss", "positive"], ["val_loss", "validation loss", "mixed"]];

/** Show the loss of each epoch. */
export function showHistory(history, place) {
  const curves = CURVES.filter(([name]) => history[name]?.length > 1);
  const values = curves.flatMap(([name]) => history[name]).filter((x) => x !== null);
  if (!values.length) return place.replaceChildren(element("p", { class: "note" }, "No curves."));
  const low = Math.min(...values), high = Math.max(...values), span = high - low || 1;
  const epochs = Math.max(...curves.map(([name]) => history[name].length));
  const x = (epoch) => LEFT + ((WIDTH - LEFT - 6) * epoch) / Math.max(1, epochs - 1);
  const y = (value) => TOP + ((HEIGHT - TOP - BOTTOM) * (high - value)) / span;
  const summary = curves.map(([name, title]) => `${title} ${number(history[name][0])} to ${number(history[name].at(-1))}`).join(", ");
  const chart = svgElement("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `Curves of ${epochs} epochs: ${summary}` });
  for (const value of [low, high]) {
    chart.append(svgElement("line", { x1: LEFT, x2: WIDTH - 6, y1: y(value), y2: y(value), class: "axis" }));
    chart.append(svgElement("text", { x: LEFT - 5, y: y(value) + 4, class: "tick", "text-anchor": "end" }, number(value)));
  }
  chart.append(svgElement("text", { x: LEFT, y: HEIGHT - 5, class: "tick" }, "epoch 1"));
  chart.append(svgElement("text", { x: WIDTH - 6, y: HEIGHT - 5, class: "tick", "text-anchor": "end" }, String(epochs)));
  for (const [name, , colour] of curves) {
    const points = history[name].map((value, epoch) => (value === null ? "" : `${x(epoch).toFixed(1)},${y(value).toFixed(1)}`));
    chart.append(svgElement("polyline", { points: points.filter(Boolean).join(" "), class: `curve ${colour}` }));
  }
  const legend = curves.map(([, title, colour]) => element("span", { class: `key ${colour}` }, title));
  place.replaceChildren(chart, element("p", { class: "note" }, ...legend));
}
