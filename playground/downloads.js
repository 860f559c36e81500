// Files of a model: JSON for Python, its page, and a program in JavaScript.

/** Return JSON that cannot end the script element that it is in. */
const asScriptData = (data) => JSON.stringify(data).replace(/[<>&]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Return the page of a model, as to_html writes it. */
export function pageOf(template, data) {
  const [before, after] = template.split('"@model@"');
  return before + asScriptData(data) + after;
}

const EXPORT = "export"; // of the module that is written, not of this one

/** Return a module with a function that predicts: the scripts of the page, and the data of the model. */
export function scriptOf(modules, data) {
  const { file, examples, history, reference, ...needed } = data;
  return `// A neural tree: ${needed.facts}. predict({column: value, ...}) returns ${needed.task === "classes" ? "the probability of each class" : "a number"}.
${modules}
const model = modelOf(${JSON.stringify(needed)});
const trees = model.trees.map((tree) => new Tree(tree, model));

/** Return the prediction for a row, an object of values by the names of the columns. */
function predictRow(row) {
  const values = predict(model, trees, encode(model, model.columns.map((column) => readCell(column, row[column.name]))));
  return model.task === "classes" ? Object.fromEntries(model.outputs.map((name, i) => [name, values[i]])) : values[0];
}
${EXPORT} { predictRow as predict };
`;
}

export function save(name, content, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Return the commands for what the page does not write itself. */
export function commandsFor(exports, target) {
  return [
    ["In Python:", 'import bneuralt\nmodel = bneuralt.load_model("model.json")\nmodel.predict(table)'],
    ["Predictions for a file of new rows:", "bneuralt predict model.json table.csv"],
    ["The same model in another language:", exports.map((command) => `bneuralt export model.json ${command}`).join("\n")],
    ["The same training with more control:", `bneuralt train table.csv --target ${JSON.stringify(target)} --out model.json`],
  ];
}
