// The table of columns: kinds, effects, and notes on what was left out.

const WORDS = { number: "number", text: "number or date", category: "category", unused: "not used" };
const EFFECTS = [[0, "any"], [1, "rises"], [-1, "falls"]];

const element = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

function select(label, options, value, change) {
  const made = element("select", {}, ...options.map(([option, text]) => element("option", { value: option, textContent: text })));
  made.setAttribute("aria-label", label);
  made.value = value;
  made.addEventListener("change", () => change(made.value));
  return made;
}

/** Return the kinds that a column can have, the usual one first. */
function kindsOf({ usual, shown }) {
  const kinds = usual === "unused" ? [] : [[usual, shown]];
  if (usual !== "unused" && usual !== "category") kinds.push(["category", WORDS.category]);
  return [...kinds, ["unused", WORDS.unused]];
}

/** Show the columns; `wishes` are changed, and `changed` is called. */
export function showColumns(body, notes, columns, wishes, hasDirection, changed) {
  const rows = columns.map((column) => {
    const { position, name, cells } = column, kind = wishes.kinds[position] ?? column.kind;
    const isTarget = position === wishes.target;
    const choose = (value) => {
      wishes.kinds[position] = value;
      changed();
    };
    const kindCell = isTarget ? "target" : select(`${name} is`, kindsOf(column), kind, choose);
    const mayConstrain = !isTarget && hasDirection && kind !== "unused" && kind !== "category" && column.shown === "number";
    const effect = mayConstrain
      ? select(`effect of ${name}`, EFFECTS, wishes.signs[position] ?? 0, (value) => {
          wishes.signs[position] = Number(value);
          changed();
        })
      : "";
    const row = element("tr", { className: isTarget ? "target" : kind === "unused" ? "unused" : "" });
    row.append(
      element("th", { scope: "row", textContent: name }),
      element("td", {}, kindCell),
      element("td", {}, effect),
      element("td", { className: "cells", textContent: cells.map((cell) => cell || "·").join(", ") }),
    );
    return row;
  });
  body.replaceChildren(...rows);
  const said = columns.filter(({ position }) => position !== wishes.target).flatMap(({ name, why, note }) => [
    ...(why ? [`“${name}” is not used, because ${why}.`] : []),
    ...(note ? [`“${name}” ${note}.`] : []),
  ]);
  notes.replaceChildren(...said.map((text) => element("li", { textContent: text })));
}

/** Show bars of scores: {name, value from 0 to 1, text}. */
export function showBars(place, bars) {
  place.replaceChildren(...bars.flatMap(({ name, value, text, kind }) => {
    const bar = element("div", { className: `bar ${kind}` });
    bar.style.width = `${100 * Math.min(1, Math.max(0, value))}%`;
    return [element("span", { textContent: name }), element("div", { className: "track" }, bar), element("span", { textContent: text })];
  }));
}

/** Show commands with their explanations. */
export function showCommands(place, commands) {
  place.replaceChildren(...commands.flatMap(([words, command]) => [element("p", { textContent: words }), element("pre", { textContent: command, tabIndex: 0 })]));
}
