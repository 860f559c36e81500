// The picture of trees while they learn: weights grow, leaves move and bend.

const MOST_LABELS = 12, MOST_OUTPUTS = 8, WIDEST = 6, STRONG = 2.5, LEVELS = 10, MANY = 500, RING_TIME = 900, EASE = 0.3, MOST_WAITING = 45;
const SLOW = 20, REST = 2; // frames of more than so many milliseconds are followed by a rest of so many times their duration

/** Return the colours of the page. */
export function colours(element = document.documentElement) {
  const style = getComputedStyle(element);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  return Object.fromEntries(["back", "text", "quiet", "line", "accent", "positive", "negative", "good"].map((name) => [name, of(name)]));
}

/** Prepare a canvas for its size on the screen; return its context, width and height. */
export function prepared(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas, scale = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
  if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return { context, width, height };
}

export const movesLittle = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Return places on circles around the root, within -1 and 1: nodes first, then leaves. */
export function placesOf({ parent, leafParent, k }) {
  const n = parent.length, level = new Int32Array(n), children = Array.from({ length: n }, () => []);
  for (let i = k; i < n; i++) {
    level[i] = level[parent[i]] + 1;
    children[parent[i]].push(i);
  }
  leafParent.forEach((node, l) => children[node].push(n + l));
  const slot = new Float64Array(n + leafParent.length);
  let next = 0;
  const visit = (item) => {
    if (item >= n) return (slot[item] = next++ + 0.5);
    const slots = children[item].map(visit);
    return (slot[item] = slots.length ? (slots[0] + slots.at(-1)) / 2 : next++ + 0.5);
  };
  for (let i = 0; i < k; i++) {
    visit(i);
    next += k > 1 ? 0.7 : 0;
  }
  const deepest = Math.max(...level) + (k > 1 ? 2 : 1);
  const x = new Float64Array(slot.length), y = new Float64Array(slot.length), angle = new Float64Array(slot.length);
  slot.forEach((s, item) => {
    const depth = item < n ? level[item] + (k > 1 ? 1 : 0) : level[leafParent[item - n]] + (k > 1 ? 2 : 1);
    angle[item] = (2 * Math.PI * s) / next - Math.PI / 2;
    x[item] = (depth / deepest) * Math.cos(angle[item]);
    y[item] = (depth / deepest) * Math.sin(angle[item]);
  });
  return { x, y, angle };
}

export class TreePicture {
  constructor(canvas) {
    this.canvas = canvas;
    this.clear();
  }

  clear() {
    this.waiting = [];
    this.trees = [];
    this.nTrees = 1;
    this.nMoves = this.nFrames = 0;
    Object.assign(this.canvas.dataset, { frames: 0, moves: 0, ramps: 0 });
  }

  /** What is trained: the kind and the column of each input, and the names of the columns. */
  begin(about) {
    this.clear();
    this.about = about;
  }

  add(frame) {
    this.waiting.push(frame);
    if (!this.isRunning) {
      this.isRunning = true;
      requestAnimationFrame(() => this.tick());
    }
  }

  take({ t, nTrees, epoch, tree }) {
    this.nTrees = nTrees;
    const shown = this.trees[t];
    if (!shown || epoch === 0) {
      this.trees[t] = { ...tree, places: placesOf(tree), weights: Float64Array.from(tree.theta), movedAt: new Float64Array(tree.leafInput.length).fill(-Infinity) };
    } else {
      const now = performance.now();
      tree.leafInput.forEach((input, l) => {
        if (input === shown.leafInput[l]) return;
        shown.movedAt[l] = now;
        this.nMoves++;
      });
      Object.assign(shown, { theta: tree.theta, leafInput: tree.leafInput, epoch });
    }
    this.trees[t].isChanged = true;
    this.trees[t].nRamps = tree.leafInput.reduce((sum, i) => sum + (this.about.kinds[i] === "ramp"), 0);
    this.nFrames++;
  }

  tick() {
    const some = movesLittle() ? this.waiting.length : Math.max(1, Math.ceil(this.waiting.length / MOST_WAITING));
    for (const frame of this.waiting.splice(0, some)) this.take(frame);
    const now = performance.now(), ease = movesLittle() ? 1 : EASE;
    for (const tree of this.trees.filter(Boolean)) {
      tree.isMoving = tree.movedAt.some((at) => now - at < RING_TIME);
      tree.theta.forEach((weight, i) => {
        const step = weight - tree.weights[i];
        if (Math.abs(step) > 1e-3) tree.isMoving = true;
        tree.weights[i] += ease * step;
      });
      tree.isChanged ||= tree.isMoving;
    }
    this.draw(now, true);
    this.isRunning = this.waiting.length > 0 || this.trees.some((tree) => tree?.isMoving);
    if (!this.isRunning) return;
    const next = () => requestAnimationFrame(() => this.tick());
    setTimeout(() => { // after the browser has painted
      const took = performance.now() - now;
      if (took > SLOW) setTimeout(next, REST * took);
      else next();
    });
  }

  /** Draw all trees, or only those that have changed since they were drawn. */
  draw(now = performance.now(), onlyChanged = false) {
    const { context, width, height } = prepared(this.canvas), colour = colours();
    const across = this.nTrees > 1 ? (width > 700 ? 5 : 4) : 1, down = Math.ceil(this.nTrees / across);
    const form = [width, height, this.nTrees].join();
    const isSame = onlyChanged && form === this.form;
    this.form = form;
    if (!isSame) context.clearRect(0, 0, width, height);
    this.trees.forEach((tree, t) => {
      if (!tree || (isSame && !tree.isChanged)) return;
      const cell = { left: ((t % across) * width) / across, top: (Math.floor(t / across) * height) / down, width: width / across, height: height / down };
      context.clearRect(cell.left, cell.top, cell.width, cell.height);
      this.drawTree(context, tree, cell, colour, now);
      tree.isChanged = tree.isMoving;
    });
    const ramps = this.trees.reduce((sum, tree) => sum + (tree?.nRamps ?? 0), 0);
    Object.assign(this.canvas.dataset, { frames: this.nFrames, moves: this.nMoves, ramps });
  }

  drawTree(context, tree, cell, colour, now) {
    const { parent, leafParent, leafInput, k, weights, places } = tree, n = parent.length;
    const hasLabels = this.nTrees === 1, room = hasLabels ? Math.min(120, Math.max(84, cell.width / 5)) : 10;
    const centre = { x: cell.left + cell.width / 2, y: cell.top + cell.height / 2 };
    const radius = { x: Math.max(20, cell.width / 2 - room), y: Math.max(20, cell.height / 2 - (hasLabels ? 26 : 10)) };
    const at = (item) => (item < 0 ? [centre.x, centre.y] : [centre.x + radius.x * places.x[item], centre.y + radius.y * places.y[item]]);
    // lines of about the same weight are one path, and many lines are straight: others would take too long
    const isLarge = n + leafInput.length > MANY;
    const paths = new Map();
    const line = (item, above, weight) => {
      const level = Math.sign(weight) * Math.ceil(LEVELS * Math.min(1, Math.abs(weight) / STRONG)), [x1, y1] = at(above), [x2, y2] = at(item);
      if (!paths.has(level)) paths.set(level, new Path2D());
      paths.get(level).moveTo(x1, y1);
      if (isLarge) paths.get(level).lineTo(x2, y2);
      else paths.get(level).quadraticCurveTo((x1 + x2) / 2 + (y1 - y2) * 0.06, (y1 + y2) / 2 + (x2 - x1) * 0.06, x2, y2);
    };
    if (k > 1) for (let i = 0; i < k; i++) line(i, -1, 0.3);
    for (let i = k; i < n; i++) line(i, parent[i], weights[n + i - k]);
    leafParent.forEach((node, l) => line(n + l, node, weights[2 * n - k + l]));
    for (const [level, path] of paths) {
      const strength = Math.abs(level) / LEVELS;
      context.strokeStyle = level < 0 ? colour.negative : colour.positive;
      context.globalAlpha = 0.15 + 0.85 * strength;
      context.lineWidth = 0.4 + (WIDEST - 0.4) * strength;
      context.stroke(path);
    }
    context.globalAlpha = 1;
    context.fillStyle = colour.text;
    context.beginPath();
    for (let i = 0; i < n; i++) {
      const [x, y] = at(i), size = i < k ? 4 : 2.4;
      context.moveTo(x + size, y);
      context.arc(x, y, size, 0, 7);
    }
    context.fill();
    drawMarks(context, Array.from(leafInput, (input, l) => [this.about.kinds[input], ...at(n + l)]), leafInput.length > 150 || !hasLabels ? 2.2 : 4, colour);
    leafInput.forEach((_, l) => {
      const [x, y] = at(n + l);
      const age = (now - tree.movedAt[l]) / RING_TIME;
      if (age >= 1) return;
      context.strokeStyle = colour.good;
      context.globalAlpha = 1 - age;
      context.lineWidth = hasLabels ? 2 : 1;
      context.beginPath();
      context.arc(x, y, (4 + 12 * age) * (hasLabels ? 1 : 0.4), 0, 7);
      context.stroke();
      context.globalAlpha = 1;
    });
    if (!hasLabels) return;
    this.drawLabels(context, tree, at, colour);
    if (k > MOST_OUTPUTS) return;
    context.font = "bold 13px system-ui, sans-serif";
    context.textAlign = "center";
    for (let i = 0; i < k; i++) {
      const [x, y] = at(i);
      context.lineWidth = 4;
      context.strokeStyle = colour.back;
      context.strokeText(this.about.outputs[i], x, y - 9);
      context.fillText(this.about.outputs[i], x, y - 9);
    }
  }

  drawLabels(context, { leafInput, k, parent, weights, places }, at, colour) {
    const n = parent.length, order = Array.from(leafInput.keys());
    order.sort((a, b) => Math.abs(weights[2 * n - k + b]) - Math.abs(weights[2 * n - k + a]));
    const taken = [];
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = colour.text;
    for (const l of order) {
      if (taken.length >= MOST_LABELS) break;
      const [x, y] = at(n + l), isRight = Math.cos(places.angle[n + l]) >= 0;
      if (taken.some((other) => Math.abs(other.y - y) < 14 && other.isRight === isRight)) continue;
      taken.push({ y, isRight });
      const name = this.about.names[this.about.groups[leafInput[l]]];
      context.textAlign = isRight ? "left" : "right";
      const text = name.length > 16 ? `${name.slice(0, 15)}…` : name, place = [x + (isRight ? 10 : -10), y + 4];
      context.lineWidth = 3;
      context.strokeStyle = colour.back;
      context.strokeText(text, ...place);
      context.fillText(text, ...place);
    }
  }
}

/** Draw marks of leaves: lines for numbers, bent lines for ramps, squares for other kinds. */
function drawMarks(context, marks, size, colour) {
  context.lineWidth = 1.6;
  for (const isRamp of [false, true]) {
    context.strokeStyle = isRamp ? colour.good : colour.quiet;
    context.beginPath();
    for (const [kind, x, y] of marks) {
      if ((kind === "ramp") !== isRamp) continue;
      if (isRamp) {
        context.moveTo(x - 1.7 * size, y + size);
        context.lineTo(x - 0.6 * size, y + size);
        context.lineTo(x + 0.6 * size, y - size);
        context.lineTo(x + 1.7 * size, y - size);
      } else if (kind === "number") {
        context.moveTo(x - size, y + size);
        context.lineTo(x + size, y - size);
      } else context.rect(x - size / 2, y - size / 2, size, size);
    }
    context.stroke();
  }
}
