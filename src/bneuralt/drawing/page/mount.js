// The page: what is shown, and what happens when something changes.
import { Background } from "./background.js";
import { EditPanel } from "./edit_panel.js";
import { EffectPanel } from "./effect_panel.js";
import { Form } from "./form.js";
import { number, percent, plural } from "./format.js";
import { listen } from "./gestures.js";
import { showHistory } from "./history.js";
import { bounds, layOut } from "./layout.js";
import { interactionsOf, possiblePairs, strongestColumns } from "./interactions.js";
import { modelOf } from "./model.js";
import { describe, listInteractions, showNode, showPrediction, showReasons, showTrees, titleOf } from "./panels.js";
import { directions, encode, largest, predict, predictionOf } from "./prediction.js";
import { readRows } from "./rows.js";
import { edgeStyles, labelOf, strengths } from "./scene.js";
import { contributionsOf, countFolded, idleItems, leftOut } from "./summary.js";
import { Tree } from "./tree.js";
import { View } from "./view.js";

const MOST_ROWS_IN_COLUMNS = 45, PAUSE = 140, FLOW = 900;
const MOST_ROWS = 30, FEWEST_ROWS = 10, ROW_HEIGHT = 22, MANY_OUTPUTS = 12, ROWS_OF_ONE = 8, LINE = 14; // of a summary

/**
 * Show a model on an element.
 *
 * `data` is what `bneuralt.drawing.page_data.page_data` returns, read from JSON. The element is
 * filled with the component; its size is that of the element, which needs a height. There may be
 * one at a time on a page, since labels refer to fields by their ids. Options: `title`, and
 * `isSmall` for places with little room. Returns an object with `remove()`, to be called before
 * another model is mounted. Nothing is kept outside of the function.
 */
export function mount(root, data, { title = "", isSmall = false } = {}) {
  root.innerHTML = MARKUP;
  root.classList.add("bneuralt");
  root.classList.toggle("small", isSmall);
  const byId = (id) => root.querySelector(`#${id}`);
  const model = modelOf(data);
  const canvas = byId("drawing");
  const mounted = new AbortController();
  const view = new View(canvas, root);
  const trees = model.trees.map((data) => new Tree(data, model));
  const background = new Background(mounted.signal);
  const typical = Float64Array.from(model.means);

  const state = { tree: 0, selected: -1, hovered: -1, mode: "weights", output: null, query: "", rows: null, row: 0 };
  let tree, places, run, share, signs, form, effects, timer, frame, flowEnds = 0, editing = null;
  let inputs = typical, layout = null;

  // -- what is drawn ------------------------------------------------------------------------

  function chooseTree(t) {
    state.tree = t;
    tree = trees[t];
    state.selected = state.hovered = -1;
    view.resize();
    if (!tree.display) summarise();
    byId("history-panel").hidden = !model.history?.[t];
    if (model.history?.[t]) showHistory(model.history[t], byId("history"));
    arrange(true);
    evaluate();
  }

  /** Show the strongest paths of a large tree, and all of a small one. */
  function summarise() {
    const { strength, idle } = strengthsOf(tree);
    const collapsed = new Uint8Array(tree.nNodes);
    if (tree.nOutputs > MANY_OUTPUTS) {
      if (view.width < 600) canvas.parentElement.style.height = `${LINE * (tree.nOutputs + ROWS_OF_ONE)}px`;
      view.resize();
      const decision = largest(predictionOf(model, tree, inputs));
      for (let k = 0; k < tree.nOutputs; k++) collapsed[k] = k === decision ? 0 : 1;
    }
    const total = Math.round(Math.min(MOST_ROWS, Math.max(FEWEST_ROWS, view.height / ROW_HEIGHT)));
    const nLive = idle.subarray(tree.nNodes).reduce((n, isIdle) => n + 1 - isIdle, 0);
    const ofOutput = tree.nOutputs > MANY_OUTPUTS ? ROWS_OF_ONE : Math.max(2, Math.floor(total / tree.nOutputs));
    const isAll = nLive <= Math.max(total, view.height / LINE); // with lines that are close together
    const rows = (k) => (isAll && !collapsed[k] ? nLive : ofOutput);
    display({ strength, idle, collapsed, hidden: leftOut(tree, strength, idle, rows) });
  }

  function strengthsOf(tree) {
    const strength = contributionsOf(model, tree);
    return { strength, idle: idleItems(tree, strength) };
  }

  /** Return the parts of what is shown of a tree, with what follows from them. */
  function displayOf(tree, parts) {
    const { hidden, idle } = parts;
    return { ...parts, isHidden: (i) => hidden[i] || idle[i], folded: countFolded(tree, hidden, idle) };
  }

  /** Set what is shown of the tree, and the layout that has room for it. */
  function display(parts) {
    const { hidden, idle, collapsed } = parts;
    tree.display = displayOf(tree, parts);
    let n = 0;
    for (let i = tree.nNodes; i < tree.size; i++) n += hidden[i] || idle[i] || collapsed[tree.output[tree.parentOf(i)]] ? 0 : 1;
    // Phones have room for labels in columns only.
    const most = view.width < 600 ? view.height / 9 : MOST_ROWS_IN_COLUMNS;
    layout = n <= most ? "columns" : "radial";
    byId("layout").value = layout;
    byId("idle").textContent = idleNote(idle);
  }

  function idleNote(idle) {
    let n = 0;
    for (let i = tree.nNodes; i < tree.size; i++) n += idle[i];
    return n ? `${plural(n, "leaf does", "leaves do")} nothing and ${n === 1 ? "is" : "are"} not drawn.` : "";
  }

  function arrange(fit = false) {
    view.resize();
    places = layOut(tree, tree.display, layout, { width: view.width - 50, height: view.height - 52, label: labelWidth });
    if (fit) fitAll();
    describeDrawing();
  }

  /** Return the number of characters of a name in the drawing. */
  function longestName() {
    return view.width < 600 ? 32 : 40;
  }

  /** Return the room in pixels for the label beside a leaf, in columns. */
  function labelWidth(item) {
    const length = tree.isFold(item) ? 8 : Math.max(4, Math.min(longestName(), model.inputs[tree.inputOf(item)].length));
    return Math.min(50 + (view.width < 600 ? 6.6 : 8.2) * length, view.width / 2);
  }

  /** Return the room in pixels for the labels around circles. */
  function labelsAround() {
    const longest = model.inputs.reduce((most, name) => Math.max(most, Math.min(longestName(), name.length)), 4);
    return Math.min(50 + 5.2 * longest, view.width / 3);
  }

  /** Show the whole tree, with room for the labels of the outermost leaves. */
  function fitAll() {
    const box = bounds(places), isRadial = layout === "radial";
    const fit = (label) => {
      if (isRadial) view.fit(box, { left: label, right: label, top: label, bottom: label });
      else view.fit(box, { left: 40, right: label + 10, top: 26, bottom: 26 });
    };
    view.labelsFrom = 0;
    fit(isRadial ? labelsAround() : places.labels);
    if (view.showsLeafLabels(places)) return;
    fit(14); // without labels there is more room; they appear when this is enlarged
    view.labelsFrom = 1.05 * view.scale;
  }

  function describeDrawing() {
    const shown = places.items.length;
    canvas.dataset.shown = shown;
    canvas.setAttribute("aria-label", `Tree of ${plural(tree.nNodes, "node")} and ${plural(tree.nLeaves, "leaf", "leaves")}, ${shown === tree.size ? "all" : shown.toLocaleString("en")} shown`);
  }

  /** Compute everything for the example and show it. */
  function evaluate() {
    const prediction = predict(model, trees, inputs);
    run = tree.forward(inputs);
    const votes = votesOfTree();
    share = tree.contributions(run, tree.forward(typical));
    signs = directions(model, votes, state.output);
    showPrediction(model, prediction, byId("prediction"));
    showReasons(model, tree, share, signs, byId("reasons"), form.isTypical);
    if (trees.length > 1) showTrees(model, trees, inputs, state.tree, byId("trees"), chooseTree);
    refreshNode();
    refreshEffects(prediction);
    compose(votes);
    requestDraw();
  }

  /** Draw the curves of all columns for the row, in the background. */
  function refreshEffects(prediction) {
    if (!isSmall) background.start("effects", effects.draw(inputs, prediction, state.output));
  }

  function compose(votes) {
    const inExample = state.mode === "example";
    const winner = model.task === "classes" || model.task === "scores" ? largest(votes) : -1;
    let strength, sign;
    if (inExample) {
      strength = new Float64Array(tree.size + tree.nNodes);
      sign = new Float64Array(tree.size + tree.nNodes);
      for (let i = tree.nOutputs; i < tree.size; i++) {
        const direction = signs[tree.output[tree.isLeaf(i) ? tree.parentOf(i) : i]];
        sign[i] = direction * share[i];
        if (tree.display.hidden[i]) sign[tree.fold(tree.parentOf(i))] += sign[i];
      }
      sign.forEach((x, i) => (strength[i] = Math.abs(x)));
    } else {
      strength = strengths(model, tree);
      sign = tree.weight;
    }
    view.scene = {
      tree, places, collapsed: tree.display.collapsed, winner, faded: inExample, selected: state.selected, hovered: state.hovered,
      styles: edgeStyles(strength, sign),
      hits: findLeaves(),
      label: (i) => labelOf(model, tree, i, inExample ? run.value : null, sign[i], longestName()),
      outputLabel: (k) => [model.outputs[k], model.task === "classes" || model.task === "labels" ? percent(votes[k]) : number(run.value[k])],
      hidden: (i) => below(i),
    };
  }

  const recompose = () => compose(votesOfTree());

  /** Return what the tree that is shown predicts. */
  function votesOfTree() {
    return model.link([Array.from(run.value.subarray(0, tree.nOutputs))]);
  }

  /** Return the number of items below a node. */
  function below(node) {
    let n = 0;
    const waiting = [node];
    while (waiting.length) {
      const items = tree.childrenOf(waiting.pop());
      n += items.length;
      waiting.push(...items.filter((i) => !tree.isLeaf(i)));
    }
    return n;
  }

  function requestDraw(inGesture = false) {
    if (frame) return;
    frame = requestAnimationFrame(() => {
      frame = null;
      view.resize();
      view.draw(inGesture);
      if (!canvas.dataset.drawn) performance.mark("drawn"); // what benchmarks wait for
      canvas.dataset.drawn = Number(canvas.dataset.drawn ?? 0) + 1;
      if (performance.now() < flowEnds && view.cost < 10) {
        view.drawFlow(1 - (flowEnds - performance.now()) / FLOW);
        requestDraw();
      }
    });
  }

  function startFlow() {
    if (state.mode !== "example" || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    flowEnds = performance.now() + FLOW;
  }

  /** Draw coarsely during a gesture and exactly after it. */
  function moved() {
    requestDraw(true);
    clearTimeout(timer);
    timer = setTimeout(() => requestDraw(), PAUSE);
  }

  // -- search -------------------------------------------------------------------------------

  /** Return which items are or lead to a leaf that is searched for; null without a search. */
  function findLeaves() {
    const query = state.query.trim().toLowerCase();
    if (!query) {
      byId("hits").textContent = "";
      return null;
    }
    const matches = model.inputs.map((name) => name.toLowerCase().includes(query));
    const hits = new Uint8Array(tree.size + tree.nNodes), { hidden } = tree.display;
    let n = 0;
    for (let i = tree.nNodes; i < tree.size; i++) {
      if (!matches[tree.inputOf(i)]) continue;
      n++;
      for (let j = i; j >= 0 && !hits[j]; j = tree.parentOf(j)) {
        hits[j] = 1;
        if (j >= tree.nOutputs && hidden[j]) hits[tree.fold(tree.parentOf(j))] = 1;
      }
    }
    byId("hits").textContent = n ? plural(n, "leaf", "leaves") : "no leaf";
    return hits;
  }

  // -- nodes --------------------------------------------------------------------------------

  function select(item, reveal = true) {
    state.selected = item;
    if (item >= 0) {
      expandAbove(item);
      const [x, y] = view.toScreen(places.x[item], places.y[item]);
      if (reveal && !view.isVisible(x, y, -30)) view.centre(places.x[item], places.y[item]);
      byId("status").textContent = describe(model, tree, item, run);
    }
    refreshNode();
    recompose();
    requestDraw();
  }

  function expandAbove(item) {
    let changed = false;
    const { collapsed, hidden, idle } = tree.display;
    for (let i = item; i >= 0; i = tree.parentOf(i)) {
      if (i !== item && collapsed[i]) [collapsed[i], changed] = [0, true];
      if (hidden[i] || idle[i]) [hidden[i], idle[i], changed] = [0, 0, true];
    }
    if (changed) refold();
  }

  /** Arrange anew after some items were hidden or shown. */
  function refold() {
    tree.display.folded = countFolded(tree, tree.display.hidden, tree.display.idle);
    arrange();
  }

  function toggle(node) {
    if (node < 0) return;
    if (tree.isFold(node)) return unfold(tree.parentOf(node));
    if (tree.isLeaf(node)) return;
    const { collapsed } = tree.display;
    const before = view.toScreen(places.x[node], places.y[node]);
    collapsed[node] = 1 - collapsed[node];
    arrange();
    const after = view.toScreen(places.x[node], places.y[node]);
    if (layout === "columns") view.pan(before[0] - after[0], before[1] - after[1]);
    byId("status").textContent = `${titleOf(model, tree, node)}: ${collapsed[node] ? "collapsed" : "expanded"}`;
    shownChanged();
  }

  /** Show what a fold below a node stands for; what is further below stays folded. */
  function unfold(node) {
    const before = view.toScreen(places.x[node], places.y[node]), below = tree.childrenOf(node);
    for (const i of below) tree.display.hidden[i] = 0;
    if (tree.isFold(state.selected)) state.selected = node;
    refold();
    const after = view.toScreen(places.x[node], places.y[node]);
    if (layout === "columns") view.pan(before[0] - after[0], before[1] - after[1]);
    byId("status").textContent = `${titleOf(model, tree, node)}: ${plural(below.length, "item")} below`;
    shownChanged();
  }

  /** Collapse all nodes of a level and below. */
  function collapseFrom(level) {
    for (let i = 0; i < tree.nNodes; i++) tree.display.collapsed[i] = tree.level[i] >= level ? 1 : 0;
    arrange(true);
    shownChanged();
  }

  /** Show all items but those that do nothing. */
  function showAll() {
    display({ ...tree.display, collapsed: new Uint8Array(tree.nNodes), hidden: new Uint8Array(tree.size) });
    arrange(true);
    shownChanged();
  }

  function showSummary() {
    summarise();
    if (state.selected >= 0 && (tree.isFold(state.selected) || tree.display.isHidden(state.selected))) state.selected = -1;
    arrange(true);
    shownChanged();
  }

  function shownChanged() {
    refreshNode();
    recompose();
    requestDraw();
  }

  function refreshNode() {
    showNode(model, tree, state.selected, run, state.selected >= 0 && tree.display.collapsed[state.selected], byId("node"), { select, toggle, edits: editing?.ofTree(state.tree) });
  }

  function hover(x, y) {
    if (!view.scene) return;
    const item = view.itemAt(x, y), tip = byId("tip");
    canvas.style.cursor = item >= 0 ? "pointer" : "grab";
    tip.hidden = item < 0;
    if (item >= 0) {
      tip.textContent = describe(model, tree, item, run);
      tip.style.left = `${Math.max(4, Math.min(x + 14, view.width - tip.offsetWidth - 8))}px`;
      tip.style.top = `${y + 18 + tip.offsetHeight > view.height ? y - tip.offsetHeight - 10 : y + 18}px`;
    }
    if (item === state.hovered) return;
    state.hovered = view.scene.hovered = item;
    if (view.cost < 30) requestDraw();
  }

  /** Return what is drawn below a node, or would be if it were not collapsed. */
  function shownBelow(node) {
    const { folded, isHidden } = tree.display;
    return [...tree.childrenOf(node).filter((i) => !isHidden(i)), ...(folded[node] ? [tree.fold(node)] : [])];
  }

  function walk(name) {
    const at = state.selected;
    if (name === "Home" || at < 0) return select(0), true;
    const siblings = at < tree.nOutputs ? Array.from({ length: tree.nOutputs }, (_, k) => k) : shownBelow(tree.parentOf(at));
    const place = siblings.indexOf(at);
    const goal = {
      ArrowLeft: at < tree.nOutputs ? at : tree.parentOf(at),
      ArrowRight: shownBelow(at)[0] ?? at,
      ArrowUp: siblings[place - 1] ?? at,
      ArrowDown: siblings[place + 1] ?? at,
    }[name];
    select(goal);
    return true;
  }

  const KEYS = {
    "+": () => view.zoom(1.25),
    "=": () => view.zoom(1.25),
    "-": () => view.zoom(0.8),
    0: fitAll,
    Enter: () => toggle(state.selected),
    " ": () => toggle(state.selected),
    Escape: () => select(-1),
  };

  listen(
    canvas,
    {
      pan: (dx, dy) => (view.pan(dx, dy), moved()),
      zoom: (factor, x, y) => (view.zoom(factor, x, y), moved()),
      settle: moved,
      hover,
      select: (x, y) => select(view.itemAt(x, y), false),
      toggle: (x, y) => toggle(view.itemAt(x, y)),
      key: (name) => (name.startsWith("Arrow") || name === "Home" ? walk(name) : name in KEYS && (KEYS[name](), requestDraw(), true)),
    },
    isSmall,
  );

  // -- edits --------------------------------------------------------------------------------

  /** Show a model whose numbers have changed. */
  function modelChanged() {
    effects.forget();
    inputs = encode(model, form.values);
    for (const edited of trees) if (edited.display) edited.display = displayOf(edited, { ...edited.display, ...strengthsOf(edited) });
    byId("idle").textContent = idleNote(tree.display.idle);
    form.refresh();
    arrange();
    evaluate();
    refreshInteractions();
  }

  // -- interactions -------------------------------------------------------------------------

  function refreshInteractions() {
    if (!isSmall && model.reference && model.columns.length > 1) background.start("interactions", showInteractions());
  }

  function* showInteractions() {
    const strengths = [];
    for (const each of trees) {
      strengths.push(each.display?.strength ?? contributionsOf(model, each));
      yield;
    }
    const columns = strongestColumns(model, trees, strengths), pairs = possiblePairs(model, trees, columns);
    const found = yield* interactionsOf(model, trees, pairs);
    const nPairs = (columns.length * (columns.length - 1)) / 2;
    byId("interactions-panel").hidden = false;
    listInteractions(model, found, nPairs, byId("interactions-note"), byId("interactions"));
  }

  // -- examples -----------------------------------------------------------------------------

  function exampleChanged() {
    inputs = encode(model, form.values);
    if (state.mode !== "example") setMode("example");
    startFlow();
    evaluate();
  }

  function setMode(mode) {
    state.mode = mode;
    byId("mode").value = mode;
    byId("legend-weights").hidden = mode !== "weights";
    byId("legend-example").hidden = mode === "weights";
  }

  function showRow(i) {
    state.row = (i + state.rows.length) % state.rows.length;
    byId("row").textContent = `row ${state.row + 1} of ${state.rows.length.toLocaleString("en")}`;
    form.set([...state.rows[state.row]]);
  }

  function useRows(rows, table = null) {
    state.rows = rows;
    byId("stepper").hidden = false;
    showRow(0);
    editing?.useRows(rows, table);
  }

  function readExamples(text) {
    const message = byId("rows-message");
    try {
      const table = readRows(model, text);
      useRows(table.rows, table);
      message.textContent = `${plural(state.rows.length, "row")} read.`;
    } catch (error) {
      message.textContent = `This cannot be read. ${error.message}`;
    }
  }

  /** Read a file that is dropped on the page. */
  function acceptFiles() {
    const mark = (isOver) => (event) => (event.preventDefault(), root.classList.toggle("dropping", isOver));
    root.addEventListener("dragover", mark(true), { signal: mounted.signal });
    root.addEventListener("dragleave", mark(false), { signal: mounted.signal });
    root.addEventListener("drop", async (event) => {
      mark(false)(event);
      const [file] = event.dataTransfer?.files ?? [];
      if (!file) return;
      byId("load-rows").open = true;
      readExamples(await file.text());
    }, { signal: mounted.signal });
  }

  const on = (id, event, act) => byId(id).addEventListener(event, act);

  on("search", "input", () => ((state.query = byId("search").value), recompose(), requestDraw()));
  on("layout", "change", () => ((layout = byId("layout").value), arrange(true), recompose(), requestDraw()));
  on("mode", "change", () => (setMode(byId("mode").value), recompose(), startFlow(), requestDraw()));
  on("zoom-in", "click", () => (view.zoom(1.4), requestDraw()));
  on("zoom-out", "click", () => (view.zoom(1 / 1.4), requestDraw()));
  on("fit", "click", () => (fitAll(), requestDraw()));
  on("collapse", "click", () => collapseFrom(1));
  on("summary", "click", showSummary);
  on("expand", "click", showAll);
  on("reset", "click", () => form.reset());
  on("find-column", "input", () => ((form.query = byId("find-column").value), form.build()));
  on("previous", "click", () => showRow(state.row - 1));
  on("next", "click", () => showRow(state.row + 1));
  on("rows-file", "change", async () => readExamples(await byId("rows-file").files[0].text()));
  on("rows-read", "click", () => readExamples(byId("rows-text").value));
  on("output-choice", "change", () => ((state.output = byId("output-choice").value === "" ? null : Number(byId("output-choice").value)), evaluate()));
  on("previous-tree", "click", () => chooseTree((state.tree + trees.length - 1) % trees.length));
  on("next-tree", "click", () => chooseTree((state.tree + 1) % trees.length));

  // -- start --------------------------------------------------------------------------------

  function start() {
    byId("title").textContent = title;
    byId("facts").textContent = model.facts;
    form = new Form(model, byId("fields"), exampleChanged);
    effects = new EffectPanel(model, trees, form, byId);
    form.onBuild = () => refreshEffects(predict(model, trees, inputs));
    byId("find-column-row").hidden = !form.needsSearch;
    byId("trees-panel").hidden = trees.length < 2;
    const hasChoice = model.outputs.length > 1;
    byId("output-row").hidden = !hasChoice;
    if (hasChoice) {
      const decides = model.task === "classes" || model.task === "scores";
      const options = model.outputs.map((name, k) => new Option(name, String(k)));
      byId("output-choice").replaceChildren(...(decides ? [new Option("the decision", "")] : []), ...options);
    }
    const names = [...new Set(model.inputs)].slice(0, 500).map((name) => {
      const option = document.createElement("option");
      option.value = name;
      return option;
    });
    byId("names").replaceChildren(...names);
    inputs = encode(model, form.values);
    setMode("weights");
    chooseTree(0);
    if (model.file && !isSmall) editing = new EditPanel(model, trees, byId, { background, title, modelChanged, refused: refreshNode });
    if (model.examples) useRows(model.examples.rows);
    refreshInteractions();
    acceptFiles();
    const repaint = () => (view.readColours(), requestDraw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint, { signal: mounted.signal });
    const resized = new ResizeObserver(() => (view.resize() && (arrange(true), recompose()), requestDraw()));
    resized.observe(canvas);
    mounted.signal.addEventListener("abort", () => resized.disconnect());
  }

  start();
  return { remove: () => (mounted.abort(), root.replaceChildren()) };
}
