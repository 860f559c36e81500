// The model of the page, with its expressions as functions.
import { compile } from "./expressions.js";

/** Return the data of a page, in which functions take the places of expressions. */
export function modelOf(data) {
  const expressionAt = (place) => data.expressions[place];
  const columns = data.columns.map((column) => ({
    ...column,
    functions: column.expressions.map((place) => compile(expressionAt(place), [], { column })),
  }));
  const columnOf = [];
  columns.forEach((column, j) => column.inputs.forEach((at) => (columnOf[at] = j)));
  const activations = data.activations.map(
    (entry) => entry && { ...entry, value: compile(expressionAt(entry.expression), ["z", ...entry.parameters]) },
  );
  const link = compile(expressionAt(data.link), ["outputs"], { hasVectors: true });
  return { ...data, columns, columnOf, activations, link };
}
