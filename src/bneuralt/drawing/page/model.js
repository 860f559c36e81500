// The model of the page, with its expressions as functions.
import { compile } from "./expressions.js";

/** Return the data of a page, in which functions take the places of expressions. */
export function modelOf(data) {
  const expressionAt = (place) => data.expressions[place];
  const columnOf = []; // inputs have the order of their columns
  const columns = data.columns.map((column, j) => ({
    ...column,
    inputs: column.expressions.map(() => columnOf.push(j) - 1),
    directions: column.directions ?? column.expressions.map(() => 1),
    mean: column.mean ?? null,
    functions: column.expressions.map((place) => compile(expressionAt(place), ["cell", "mean"], { column })),
  }));
  const activations = Object.fromEntries(
    Object.entries(data.activations).map(([name, { expression, parameters }]) => {
      const value = compile(expressionAt(expression), ["z", ...parameters]);
      return [name, { parameters, bind: (numbers) => ofNumber(value, [0, ...numbers]) }];
    }),
  );
  const link = compile(expressionAt(data.link), ["outputs"], { hasVectors: true });
  const reference = data.reference?.map((row) => Float64Array.from(data.used, (input) => row[input]));
  return { ...data, columns, columnOf, activations, link, reference, allReference: data.reference };
}

/** Return a function of a list as one of its first entry; the list is not made anew for each call. */
function ofNumber(value, list) {
  return (z) => {
    list[0] = z;
    return value(list);
  };
}
