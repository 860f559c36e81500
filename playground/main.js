// The page: a table comes in, a model is trained again whenever something changes.
import { colours, TreePicture } from "./animation.js";
import { Client, predictorOf } from "./client.js";
import { showBars, showColumns, showCommands } from "./columns_view.js";
import { commandsFor, pageOf, save, scriptOf } from "./downloads.js";
import { Lesson } from "./lesson.js";

const MOST_BYTES = 100e6, PAUSE = 30, PAGE_PAUSE = 500, MOST_RUNS = 12;
const byId = (id) => document.getElementById(id);
const assets = JSON.parse(byId("assets").textContent);
const picture = new TreePicture(byId("picture"));

const state = { table: null, wishes: null, model: null, name: "", client: null, runs: [] };
let trainTimer, pageTimer;

// -- messages -----------------------------------------------------------------------------

const say = (text) => (byId("message").textContent = text);
const complain = (text) => (byId("problem").textContent = text);
const percent = (share) => `${(100 * share).toFixed(1)} %`;
const plural = (n, noun) => `${n.toLocaleString("en-US")} ${noun}${n === 1 ? "" : "s"}`;

function working(isWorking) {
  byId("stop").disabled = !isWorking;
  document.body.dataset.state = isWorking ? "working" : "ready";
  if (!isWorking) byId("progress").value = 0;
}

// -- the table ----------------------------------------------------------------------------

function readSource(source, name, hasHeader = null) {
  complain("");
  say(`Reading ${name} …`);
  Object.assign(state, { pending: { name, source, hasHeader } });
  working(true);
  state.client.read(source, hasHeader);
}

async function readFile(file) {
  if (!file) return;
  if (file.size > MOST_BYTES) {
    const size = Math.round(file.size / 1e6);
    return complain(`${file.name} has ${size} MB, and this page takes at most ${MOST_BYTES / 1e6} MB: use “bneuralt train”, or a part of the rows. Nothing else has changed.`);
  }
  byId("example").value = "";
  readSource(await file.arrayBuffer(), file.name);
}

function showTable(table) {
  working(false);
  Object.assign(state, { table, name: state.pending.name, source: state.pending.source });
  const possible = table.columns.filter(({ task }) => task);
  if (!possible.length || table.columns.length < 2) {
    const why = table.columns.length < 2 ? "it has one column, and a model needs at least two" : "no column can be predicted";
    state.table = null;
    return complain(`${state.name} cannot be used: ${why}.`);
  }
  const example = assets.examples.find(({ name }) => name === state.name);
  const target = (example ? table.columns.find(({ name }) => name === example.target) : possible.at(-1)).position;
  state.wishes = { target, task: "auto", kinds: {}, signs: {}, nWeights: null, isForest: byId("kind").value === "forest", seed: 0 };
  state.runs = [];
  byId("size").value = 0;
  byId("task").value = "auto";
  byId("table-facts").textContent = `${state.name}: ${plural(table.nRows, "row")}, ${plural(table.names.length, "column")}.`;
  byId("header-row").hidden = byId("columns-part").hidden = byId("train-part").hidden = false;
  byId("has-header").checked = table.hasHeader;
  byId("target").replaceChildren(...possible.map(({ name, position }) => Object.assign(document.createElement("option"), { value: position, textContent: name })));
  byId("target").value = target;
  changed();
}

/** Show the wishes, and train after a short pause. */
function changed() {
  const { table, wishes } = state, task = wishes.task === "auto" ? table.columns[wishes.target].task : wishes.task;
  byId("size-text").textContent = wishes.nWeights ? String(wishes.nWeights) : "automatic";
  const hasDirection = task === "regression" || state.model?.file.classes?.labels.length === 2 || !state.model || state.model.target !== wishes.target;
  showColumns(byId("columns").tBodies[0], byId("notes"), table.columns, wishes, hasDirection, changed);
  clearTimeout(trainTimer);
  trainTimer = setTimeout(train, PAUSE);
}

// -- training -----------------------------------------------------------------------------

function train() {
  complain("");
  say("Training …");
  working(true);
  byId("learning").hidden = false;
  const { signs, ...wishes } = state.wishes;
  state.client.train({ ...wishes, signs: { ...signs }, kinds: { ...wishes.kinds } });
}

const listeners = {
  table: showTable,

  begin(about) {
    picture.begin(about);
    state.about = about;
  },

  epoch(frame) {
    picture.add(frame);
    const { t, nTrees, part, nParts, epoch, nEpochs } = frame;
    byId("progress").value = (t + (part + epoch / nEpochs) / nParts) / nTrees;
    const round = `ound ${part * nEpochs + epoch} of ${nParts * nEpochs}`;
    say(nTrees > 1 ? `Tree ${t + 1} of ${nTrees}, r${round}` : `R${round}`);
  },

  model(model) {
    working(false);
    state.model = { ...model, target: state.client.wishes.target, wasStopped: state.client.wasStopped };
    showModel(state.model);
  },

  error({ isPlain, message }) {
    working(false);
    say(state.model ? "The last model is still below." : "");
    complain(isPlain ? message : `Something went wrong: ${message}. ${state.model ? "The last model is still below; try" : "Try"} again, or another table.`);
  },

  died(reason) {
    working(false);
    complain(`The training ended unexpectedly (${reason}), perhaps for lack of memory. ${state.model ? "The last model is still below." : "Try fewer rows or columns."}`);
  },
};

function showModel(model) {
  const { scores, nTest, nTrain, nWeights, seconds, task, status, wasStopped } = model;
  const isClassifier = task === "classification", key = isClassifier ? "accuracy" : "r2";
  const text = (score) => (score === null ? "–" : isClassifier ? percent(score) : `r² ${score.toFixed(3)}`);
  const names = { model: byId("kind").value === "forest" ? "forest" : "tree", linear: "linear model", constant: "constant" };
  showBars(byId("bars"), Object.entries(names).map(([kind, name]) => ({ kind, name, value: scores[kind][key] ?? 0, text: text(scores[kind][key]) })));
  byId("scores").hidden = byId("model-section").hidden = false;
  byId("scores-title").textContent = nTest ? `Score on ${plural(nTest, "row")} held out (${isClassifier ? "accuracy" : "r²"})` : "Score on the training rows: there are too few to hold some out";
  const more = isClassifier ? `log-loss ${scores.model.log_loss.toFixed(3)}` : `error ${scores.model.rmse.toPrecision(3)} (root mean square)`;
  byId("score-text").textContent = `${more}; ${plural(nWeights, "weight")} trained on ${plural(nTrain, "row")}. The constant is ${isClassifier ? "the most frequent class" : "the mean"}.`;
  const took = seconds < 10 ? `${seconds.toFixed(2)} s` : `${Math.round(seconds)} s`;
  say(`${wasStopped ? "Stopped; what was learnt until then is the model." : `Trained in ${took}.`}${status === "diverged" ? " The weights overflowed; the best ones before that were kept." : ""}`);
  const run = `${text(scores.model[key])} with ${plural(nWeights, "weight")}`;
  if (state.runs[0] !== run) state.runs.unshift(run);
  byId("runs").replaceChildren(...state.runs.slice(1, 1 + MOST_RUNS).map((line) => Object.assign(document.createElement("li"), { textContent: line })));
  showCommands(byId("command-list"), commandsFor(assets.exports, model.file.target_names[0]));
  Object.assign(document.body.dataset, { score: scores.model[key], weights: nWeights, models: Number(document.body.dataset.models ?? 0) + 1 });
  clearTimeout(pageTimer);
  pageTimer = setTimeout(() => (byId("page").srcdoc = pageOf(assets.page, model.page)), PAGE_PAUSE);
  changedColumns();
}

/** Offer rising and falling effects where the model that was trained allows them. */
function changedColumns() {
  const { table, wishes, model } = state, labels = model.file.classes?.labels;
  const hasFocus = byId("columns").contains(document.activeElement);
  if (!hasFocus) showColumns(byId("columns").tBodies[0], byId("notes"), table.columns, wishes, !labels || labels.length === 2, changed);
}

// -- the lesson trains in a worker of its own -------------------------------------------------

function lessonFrames(text) {
  return new Promise((done) => {
    const epochs = [];
    let about, context;
    const client = new Client(assets.worker, state.module, {
      table: () => client.train({ target: 4, task: "auto", kinds: {}, signs: {}, nWeights: 70, isForest: false, seed: 3 }),
      begin: (message) => (about = message),
      epoch: (message) => {
        context ??= message.context;
        epochs.push(message);
      },
      model: () => {
        client.close();
        const n = about.lines.length / 4;
        done({ epochs, about, predict: predictorOf(about, context), lines: (i) => [0, 1, 2, 3].map((k) => about.lines[k * n + i]) });
      },
      error: () => done(null),
      died: () => done(null),
    });
    client.read(text);
  });
}

// -- events -------------------------------------------------------------------------------

function listen() {
  byId("example").append(...assets.examples.map(({ name }) => Object.assign(document.createElement("option"), { value: name, textContent: name })));
  byId("example").addEventListener("change", () => {
    const example = assets.examples.find(({ name }) => name === byId("example").value);
    if (example) readSource(example.text, example.name);
  });
  byId("file").addEventListener("change", () => readFile(byId("file").files[0]));
  byId("read").addEventListener("click", () => {
    byId("example").value = "";
    readSource(byId("text").value, "The pasted table");
  });
  byId("has-header").addEventListener("change", () => readSource(state.source, state.name, byId("has-header").checked));
  byId("target").addEventListener("change", () => {
    state.wishes = { ...state.wishes, target: Number(byId("target").value), task: "auto", signs: {} };
    byId("task").value = "auto";
    state.runs = [];
    changed();
  });
  byId("task").addEventListener("change", () => {
    Object.assign(state.wishes, { task: byId("task").value, signs: {} });
    state.runs = [];
    changed();
  });
  byId("kind").addEventListener("change", () => {
    state.wishes.isForest = byId("kind").value === "forest";
    changed();
  });
  byId("size").addEventListener("input", () => {
    const value = Number(byId("size").value);
    state.wishes.nWeights = value ? Math.round(10 * 100 ** ((value - 1) / 100)) : null;
    changed();
  });
  byId("train").addEventListener("click", () => {
    state.wishes.seed++;
    changed();
  });
  byId("stop").addEventListener("click", () => {
    clearTimeout(trainTimer);
    const isKept = state.client.stop();
    if (isKept) return say("Stopped: what was learnt so far is kept …");
    working(false);
    say(`Stopped before the first round.${state.model ? " The last model is still below." : ""}`);
  });
  byId("save-model").addEventListener("click", () => save("model.json", `${JSON.stringify(state.model.file, null, 1)}\n`, "application/json"));
  byId("save-page").addEventListener("click", () => save("model.html", pageOf(assets.page, state.model.page), "text/html"));
  byId("save-script").addEventListener("click", () => save("model.mjs", scriptOf(assets.modules, state.model.page), "text/javascript"));
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      event.preventDefault();
      document.body.classList.toggle("dropping", kind === "dragover");
      if (kind === "drop") readFile(event.dataTransfer.files[0]);
    });
  }
  window.addEventListener("resize", () => picture.about && picture.draw());
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => picture.about && picture.draw());
}

async function begin() {
  listen();
  working(false);
  if (typeof WebAssembly !== "object" || typeof DecompressionStream !== "function") {
    return complain("This browser is too old for the playground: it needs WebAssembly and DecompressionStream. Use a current Firefox, Chrome, Edge or Safari.");
  }
  try {
    const bytes = Uint8Array.from(atob(assets.core), (c) => c.charCodeAt(0));
    const core = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
    if (!WebAssembly.validate(core)) throw new Error("it does not have the vector instructions (SIMD)");
    state.module = await WebAssembly.compile(core);
  } catch (error) {
    return complain(`This browser cannot run the training: ${error.message}. Use a current Firefox, Chrome, Edge or Safari.`);
  }
  state.client = new Client(assets.worker, state.module, listeners);
  new Lesson(byId, lessonFrames);
  byId("example").value = assets.examples[0].name;
  readSource(assets.examples[0].text, assets.examples[0].name);
}

begin();
