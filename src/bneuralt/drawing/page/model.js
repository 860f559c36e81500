// The model of the page, with its expressions as functions.
import { compile } from "./expressions.js";

/** Return the data of a page, in which functions take the places of expressions. */
export function modelOf(data) {
  const expressionAt = (place) => data.expressions[place];
  const columnOf = []; // inputs have the order of their columns
  const columns = data.columns.map((column, j) => ({
    ...column,
    inputs: column.expressions.map(() => columnOf.push(j) - 1),
    functions: column.expressions.map((place) => compile(expressionAt(place), ["cell", "mean"], { column })),
  }));
  const activations = data.activations.map(
    (entry) => entry && { ...entry, value: compile(expressionAt(entry.expression), ["z", ...entry.parameters]) },
  );
  const link = compile(expressionAt(data.link), ["outputs"], { hasVectors: true });
  return { ...data, columns, columnOf, activations, link };
}
