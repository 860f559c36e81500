// The lesson: five steps, each with a moving picture. Steps 3 to 5 show a tree that is really trained.
import { colours, movesLittle, prepared, TreePicture } from "./animation.js";

const STEPS = [
  {
    title: "A neuron adds and bends",
    text: "A neuron takes a few numbers, multiplies each by a weight, adds them up, and bends the sum with a curve that levels off at −1 and 1. A wide line is a large weight; blue pushes up, orange pushes down. Here two inputs rise and fall, and the neuron answers.",
    picture: "A neuron with two inputs whose answer follows their weighted sum",
  },
  {
    title: "A tree of neurons",
    text: "The answer of a neuron can be an input of the next one. Each neuron has one parent, so together they are a tree: its leaves are columns of your table, its root is the prediction. Follow the dots: values flow from the leaves to the root.",
    picture: "A small tree; dots run from its leaves to its root",
  },
  {
    title: "Learning: the weights grow",
    text: "At first the weights are random, and so are the answers. For every row the tree compares its answer with the truth, and changes each weight a little in the direction that makes the error smaller. The curve is the answer of a tree that was just trained on these points, in this browser.",
    picture: "A curve that bends until it follows the points",
  },
  {
    title: "Leaves move",
    text: "A leaf with a small weight is of little use. During training such leaves move to the column that would help most; a green ring shows where one has arrived. In this table only “x” matters, the other columns are noise: watch how leaves gather at “x”.",
    picture: "A tree while it learns; rings show leaves that move",
  },
  {
    title: "Leaves bend",
    text: "A leaf may also sit on a ramp: a part of its column that is flat, rises, and is flat again. With ramps a tree can say “only from 2 to 3”. A few dozen weights are often enough, so you can look at all of them, follow a prediction, and change what you do not believe. That is a neural tree.",
    picture: "The columns of the table: a straight leaf and several ramps, with their weights",
  },
];

/** The table of the lesson: y depends on x alone. */
export function lessonTable() {
  const rows = ["x,a,b,c,y"];
  let state = 7;
  const next = () => (state = (state * 16807) % 2147483647) / 2147483647;
  for (let i = 0; i < 160; i++) {
    const x = 6 * next() - 3;
    const y = Math.sin(2 * x) + 0.3 * x + 0.25 * (next() + next() - 1);
    rows.push([x, next(), next(), next(), y].map((v) => v.toFixed(3)).join(","));
  }
  return rows.join("\n");
}

export class Lesson {
  /** `train(text)` returns the frames of a training, as messages of the worker. */
  constructor(byId, train) {
    this.byId = byId;
    this.train = train;
    this.step = 0;
    this.frames = null;
    byId("lesson-open").addEventListener("click", () => this.open());
    byId("lesson-close").addEventListener("click", () => byId("lesson").close());
    byId("lesson-next").addEventListener("click", () => this.show(this.step + 1));
    byId("lesson-back").addEventListener("click", () => this.show(this.step - 1));
    byId("lesson").addEventListener("close", () => (this.isOpen = false));
  }

  async open() {
    this.byId("lesson").showModal();
    this.isOpen = true;
    this.show(0);
    this.loop();
    this.frames ??= await this.train(lessonTable());
  }

  show(step) {
    if (step >= STEPS.length) return this.byId("lesson").close();
    this.step = Math.max(0, step);
    const { title, text, picture } = STEPS[this.step];
    const heading = document.createElement("h3"), words = document.createElement("p");
    heading.textContent = title;
    words.textContent = text;
    this.byId("lesson-text").replaceChildren(heading, words);
    this.byId("lesson-step").textContent = `Step ${this.step + 1} of ${STEPS.length}`;
    this.byId("lesson-back").disabled = this.step === 0;
    this.byId("lesson-next").textContent = this.step === STEPS.length - 1 ? "Done" : "Next";
    const canvas = this.byId("lesson-picture");
    canvas.setAttribute("aria-label", picture);
    this.started = performance.now();
    this.tree = null;
  }

  loop() {
    if (!this.isOpen) return;
    const canvas = this.byId("lesson-picture"), { context, width, height } = prepared(canvas);
    // With little motion, the picture is that of the end.
    const seconds = movesLittle() ? 60 : (performance.now() - this.started) / 1000;
    const painter = { context, width, height, colour: colours(), seconds };
    if (this.step !== 3) context.clearRect(0, 0, width, height);
    [neuron, smallTree, () => this.curve(painter), () => this.moving(canvas), () => this.ramps(painter)][this.step](painter);
    canvas.dataset.step = this.step + 1;
    canvas.dataset.ready = this.step < 2 || this.frames ? "yes" : "no";
    requestAnimationFrame(() => this.loop());
  }

  /** The frame of a training that runs for some seconds, then rests. */
  frameAt(seconds, duration = 4) {
    const { epochs } = this.frames;
    return epochs[Math.min(epochs.length - 1, Math.floor((epochs.length * (seconds % (duration + 3))) / duration))];
  }

  curve({ context, width, height, colour, seconds }) {
    if (!this.frames) return;
    const frame = this.frameAt(seconds), toX = (x) => 30 + ((x + 3) / 6) * (width - 60), toY = (y) => height / 2 - y * (height / 5);
    context.fillStyle = colour.quiet;
    for (const line of lessonTable().split("\n").slice(1)) {
      const cells = line.split(",").map(Number);
      context.beginPath();
      context.arc(toX(cells[0]), toY(cells[4]), 2.5, 0, 7);
      context.fill();
    }
    context.strokeStyle = colour.accent;
    context.lineWidth = 3;
    context.beginPath();
    for (let i = 0; i <= 150; i++) {
      const x = -3 + i / 25, y = this.frames.predict(frame.tree, [x, 0.5, 0.5, 0.5]);
      context[i ? "lineTo" : "moveTo"](toX(x), toY(y));
    }
    context.stroke();
    context.fillStyle = colour.text;
    context.font = "14px system-ui, sans-serif";
    context.textAlign = "left";
    context.fillText(`round ${frame.epoch} of ${frame.nEpochs}`, 34, 24);
  }

  moving(canvas) {
    if (!this.frames) return;
    if (!this.tree) {
      this.tree = new TreePicture(canvas);
      this.tree.begin(this.frames.about);
      this.taken = -1;
    }
    const seconds = movesLittle() ? 60 : (performance.now() - this.started) / 1000;
    const { epochs } = this.frames, upTo = Math.min(epochs.length - 1, Math.floor((epochs.length * seconds) / 5));
    while (this.taken < upTo) this.tree.take(epochs[++this.taken]);
    for (const tree of this.tree.trees) tree.theta.forEach((weight, i) => (tree.weights[i] += 0.3 * (weight - tree.weights[i])));
    this.tree.draw();
  }

  ramps({ context, width, height, colour, seconds }) {
    if (!this.frames) return;
    const { lines, about } = this.frames, tree = this.frames.epochs.at(-1).tree, n = tree.parent.length;
    const weights = new Map();
    tree.leafInput.forEach((input, l) => {
      if (about.groups[input] === 0) weights.set(input, (weights.get(input) ?? 0) + Math.abs(tree.theta[2 * n - tree.k + l]));
    });
    const inputs = [...weights].sort((a, b) => b[1] - a[1]).slice(0, 5).sort((a, b) => a[0] - b[0]);
    const rowHeight = (height - 20) / Math.max(1, inputs.length);
    inputs.forEach(([input, weight], row) => {
      const rise = Math.min(1, Math.max(0, 1.2 * seconds - 0.4 * row)), [offset, factor, low, high] = lines(input);
      const isRamp = about.kinds[input] === "ramp", middle = 14 + (row + 0.5) * rowHeight;
      context.strokeStyle = isRamp ? colour.good : colour.quiet;
      context.lineWidth = 1.5 + Math.min(5, weight);
      context.beginPath();
      for (let i = 0; i <= 120; i++) {
        const x = -3 + i / 20, value = Math.min(Math.max((x - offset) * factor, low), high);
        const share = isRamp ? value : (value + 3) / 6;
        context[i ? "lineTo" : "moveTo"](150 + (i / 120) * (width - 180), middle + (0.5 - share * rise) * rowHeight * 0.7);
      }
      context.stroke();
      context.fillStyle = colour.text;
      context.font = "13px system-ui, sans-serif";
      context.textAlign = "left";
      context.fillText(isRamp ? "x on a ramp" : "x itself", 14, middle + 2);
      context.fillStyle = colour.quiet;
      context.fillText(`weights ${weight.toFixed(1)}`, 14, middle + 18);
    });
  }
}

function neuron({ context, width, height, colour, seconds }) {
  const inputs = [Math.sin(1.3 * seconds), Math.sin(0.9 * seconds + 1)], weights = [1.4, -0.8];
  const answer = Math.tanh(weights[0] * inputs[0] + weights[1] * inputs[1]);
  const places = [[width * 0.2, height * 0.28], [width * 0.2, height * 0.72], [width * 0.58, height * 0.5]];
  weights.forEach((weight, i) => {
    context.strokeStyle = weight < 0 ? colour.negative : colour.positive;
    context.lineWidth = 4 * Math.abs(weight);
    context.beginPath();
    context.moveTo(...places[i]);
    context.lineTo(...places[2]);
    context.stroke();
    gauge(context, places[i], inputs[i], `input ${i + 1}`, colour);
    context.fillStyle = colour.text;
    context.fillText(`× ${weight}`.replace("-", "−"), (places[i][0] + places[2][0]) / 2, (places[i][1] + places[2][1]) / 2 - 10);
  });
  gauge(context, places[2], answer, "answer", colour);
  context.strokeStyle = colour.quiet;
  context.lineWidth = 2;
  context.beginPath();
  for (let i = 0; i <= 60; i++) context[i ? "lineTo" : "moveTo"](width * 0.72 + (i / 60) * width * 0.24, height * 0.5 - 60 * Math.tanh((i - 30) / 10));
  context.stroke();
  const sum = weights[0] * inputs[0] + weights[1] * inputs[1];
  context.fillStyle = colour.accent;
  context.beginPath();
  context.arc(width * 0.84 + (sum / 6) * width * 0.24, height * 0.5 - 60 * answer, 6, 0, 7);
  context.fill();
}

function gauge(context, [x, y], value, label, colour) {
  context.fillStyle = colour.back;
  context.strokeStyle = colour.text;
  context.lineWidth = 1.5;
  context.beginPath();
  context.arc(x, y, 26, 0, 7);
  context.fill();
  context.stroke();
  context.fillStyle = colour.text;
  context.font = "14px system-ui, sans-serif";
  context.textAlign = "center";
  context.fillText(value.toFixed(2).replace("-", "−"), x, y + 5);
  context.fillText(label, x, y + 46);
}

function smallTree({ context, width, height, colour, seconds }) {
  const nodes = [[0.86, 0.5, -1], [0.58, 0.27, 0], [0.58, 0.73, 0], [0.28, 0.12, 1], [0.28, 0.36, 1], [0.28, 0.62, 2], [0.28, 0.86, 2]];
  const names = ["prediction", "neuron", "neuron", "age", "height", "colour is red", "age"], signs = [0, 1, -1, 1, 1, -1, 1];
  const at = ([x, y]) => [x * width, y * height];
  nodes.forEach((node, i) => {
    if (node[2] < 0) return;
    const [x1, y1] = at(node), [x2, y2] = at(nodes[node[2]]);
    context.strokeStyle = signs[i] < 0 ? colour.negative : colour.positive;
    context.lineWidth = 2 + (i % 3) * 1.5;
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
    context.stroke();
    const way = (seconds * 0.6 + (i < 3 ? 0.5 : 0)) % 1;
    context.fillStyle = colour.accent;
    context.beginPath();
    context.arc(x1 + way * (x2 - x1), y1 + way * (y2 - y1), 5, 0, 7);
    context.fill();
  });
  context.font = "14px system-ui, sans-serif";
  nodes.forEach((node, i) => {
    const [x, y] = at(node);
    context.fillStyle = i < 3 ? colour.text : colour.good;
    context.beginPath();
    context.arc(x, y, i < 3 ? 9 : 6, 0, 7);
    context.fill();
    context.fillStyle = colour.text;
    context.textAlign = i < 3 ? "center" : "right";
    context.fillText(names[i], i < 3 ? x : x - 14, i < 3 ? y - 16 : y + 5);
  });
}
