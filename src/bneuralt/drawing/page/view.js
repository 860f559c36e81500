// The drawing on a canvas: lines, nodes and labels of what is in the window.
import { shorten } from "./format.js";

const NODE = 9, LEAF = 3.5, FONT = 12, SMALLEST_FONT = 8.5, CLOSEST_LABELS = 7.8, ROOM_FOR_TWO = 30;
const MANY = 3000; // lines that are drawn straight, in few paths
const SLOW = 14; // milliseconds after which gestures move a copy of the last picture

export class View {
  constructor(canvas, root) {
    this.canvas = canvas;
    this.root = root;
    this.context = canvas.getContext("2d", { alpha: false });
    this.copy = document.createElement("canvas");
    this.scale = 1;
    this.left = 0;
    this.top = 0;
    this.cost = 0;
    this.labelsFrom = 0; // the scale from which leaves have labels
    this.scene = null;
    this.readColours();
    this.clear();
  }

  /** Paint the ground: a canvas without transparency is black before that. */
  clear() {
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.fillStyle = this.colours.ground;
    this.context.fillRect(0, 0, this.canvas.width, this.canvas.height);
  }

  readColours() {
    const style = getComputedStyle(this.root);
    const names = ["ground", "ink", "faint", "line", "node", "positive", "negative", "decision", "mixed", "hits"];
    this.colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    this.font = style.getPropertyValue("--font").trim();
  }

  /** Fit the canvas to its box; return whether its size changed. */
  resize() {
    const ratio = window.devicePixelRatio || 1;
    const { clientWidth, clientHeight } = this.canvas;
    const width = Math.round(clientWidth * ratio), height = Math.round(clientHeight * ratio);
    if (this.canvas.width === width && this.canvas.height === height && this.ratio === ratio) return false;
    this.ratio = ratio;
    this.width = clientWidth;
    this.height = clientHeight;
    Object.assign(this.canvas, { width, height });
    Object.assign(this.copy, { width, height });
    this.clear();
    return true;
  }

  /** Show a box of the drawing, with margins in pixels for labels. */
  fit(box, margin) {
    const width = Math.max(1, box.right - box.left), height = Math.max(1, box.bottom - box.top);
    const across = Math.max(this.width / 3, this.width - margin.left - margin.right);
    const down = Math.max(this.height / 3, this.height - margin.top - margin.bottom);
    this.scale = Math.min(across / width, down / height, 1.6);
    this.left = box.left - (margin.left + (across - width * this.scale) / 2) / this.scale;
    this.top = box.top - (margin.top + (down - height * this.scale) / 2) / this.scale;
  }

  pan(dx, dy) {
    this.left -= dx / this.scale;
    this.top -= dy / this.scale;
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const scale = Math.min(8, Math.max(0.002, this.scale * factor));
    this.left += x / this.scale - x / scale;
    this.top += y / this.scale - y / scale;
    this.scale = scale;
  }

  centre(x, y) {
    this.left = x - this.width / 2 / this.scale;
    this.top = y - this.height / 2 / this.scale;
  }

  toScreen(x, y) {
    return [(x - this.left) * this.scale, (y - this.top) * this.scale];
  }

  /** Return the item at a point of the window, -1 for none. */
  itemAt(px, py) {
    const { places } = this.scene;
    const x = px / this.scale + this.left, y = py / this.scale + this.top;
    let best = -1, nearest = (Math.max(12, NODE * this.scale + 3) / this.scale) ** 2;
    for (const i of places.items) {
      const distance = (places.x[i] - x) ** 2 + (places.y[i] - y) ** 2;
      if (distance < nearest) [best, nearest] = [i, distance];
    }
    return best;
  }

  /** Draw; while a gesture lasts, large trees are drawn as a moved copy of the last picture. */
  draw(inGesture = false) {
    if (!this.scene || !this.width) return;
    if (inGesture && this.cost > SLOW && this.drawn) return this.drawCopy();
    const started = performance.now();
    this.drawAll();
    this.cost = performance.now() - started;
    this.drawn = { left: this.left, top: this.top, scale: this.scale };
    if (this.cost > SLOW) this.copy.getContext("2d", { alpha: false }).drawImage(this.canvas, 0, 0);
  }

  drawCopy() {
    const { context, drawn, ratio } = this;
    const factor = this.scale / drawn.scale;
    const x = (drawn.left - this.left) * this.scale, y = (drawn.top - this.top) * this.scale;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = this.colours.ground;
    context.fillRect(0, 0, this.width, this.height);
    context.drawImage(this.copy, x, y, this.width * factor, this.height * factor);
  }

  drawAll() {
    const { context, ratio } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.globalAlpha = 1;
    context.fillStyle = this.colours.ground;
    context.fillRect(0, 0, this.width, this.height);
    this.drawEdges();
    this.drawNodes();
    this.drawLabels();
  }

  isVisible(x, y, margin) {
    return x > -margin && y > -margin && x < this.width + margin && y < this.height + margin;
  }

  /** Draw all edges; those that look alike are one path. */
  drawEdges() {
    const { context, colours, scene } = this;
    const { places, tree, styles, hits, faded } = scene;
    const paths = new Map();
    const edges = places.items.filter((i) => i >= tree.nOutputs);
    const many = edges.length > MANY, steps = many ? 2 : 6;
    const chunk = edges.length / 12;
    const unit = this.scale * places.magnified;
    const lineScale = Math.min(many ? 0.6 : 1.2, Math.max(0.15, many ? 0.3 * unit : unit));
    for (const [n, i] of edges.entries()) {
      const above = tree.parentOf(i);
      const [x, y] = this.toScreen(places.x[i], places.y[i]);
      const [px, py] = this.toScreen(places.x[above], places.y[above]);
      if (Math.max(x, px) < 0 || Math.max(y, py) < 0) continue;
      if (Math.min(x, px) > this.width || Math.min(y, py) > this.height) continue;
      const lit = hits ? hits[i] : 0;
      const step = Math.round(styles.emphasis[i] * steps), level = step / steps;
      // In parts, with either sign on top by turns, so that none hides the other.
      const part = many ? Math.floor(n / chunk) : 0;
      const isNegative = styles.sign[i] < 0 ? 1 : 0;
      const isQuiet = !faded && tree.isFold(i); // it has no weight
      const key = 10000 * (lit ? 1 : isQuiet ? -1 : 0) + 100 * step + 4 * part + (part % 2 ? 1 - isNegative : isNegative);
      let entry = paths.get(key);
      if (!entry) {
        const colour = lit ? colours.hits : isNegative ? colours.negative : colours.positive;
        const isPale = hits && !lit;
        entry = {
          path: new Path2D(),
          colour: isPale || (isQuiet && !lit) || (faded && level === 0) ? colours.line : colour,
          alpha: isPale ? 0.25 : lit ? 1 : faded ? 0.6 + 0.4 * level : 0.45 + 0.45 * level,
          width: Math.max(0.5, (lit ? 2.5 : 0.7 + 4.3 * level) * lineScale),
        };
        paths.set(key, entry);
      }
      entry.path.moveTo(px, py);
      if (places.kind === "radial" || many) entry.path.lineTo(x, y);
      else entry.path.bezierCurveTo(px + (x - px) * 0.5, py, px + (x - px) * 0.5, y, x, y);
    }
    for (const key of [...paths.keys()].sort((a, b) => a - b)) {
      const { path, colour, alpha, width } = paths.get(key);
      Object.assign(context, { strokeStyle: colour, globalAlpha: alpha, lineWidth: width });
      context.stroke(path);
    }
    context.globalAlpha = 1;
    if (tree.nOutputs > 1) this.drawRoot();
  }

  /** Draw dots that move along the lines from leaves to outputs; `progress` goes from 0 to 1. */
  drawFlow(progress) {
    const { context, colours, scene } = this;
    const { places, tree, styles } = scene;
    const moving = places.items.filter((i) => i >= tree.nOutputs && styles.emphasis[i] > 0.25);
    if (moving.length > 400) return;
    for (const i of moving) {
      const above = tree.parentOf(i), t = 1 - progress, s = t * t * (3 - 2 * t);
      const [x, y] = this.toScreen(places.x[i], places.y[i]);
      const [px, py] = this.toScreen(places.x[above], places.y[above]);
      const across = places.kind === "radial" ? t : s;
      const size = (1.5 + 3 * styles.emphasis[i]) * Math.min(1.2, Math.max(0.5, this.scale));
      context.globalAlpha = Math.min(1, 4 * progress, 4 * (1 - progress));
      this.disc(px + (x - px) * t, py + (y - py) * across, size, styles.sign[i] < 0 ? colours.negative : colours.positive);
    }
    context.globalAlpha = 1;
  }

  drawRoot() {
    const { context, colours, scene } = this;
    const { places, tree, winner } = scene;
    const [rx, ry] = this.toScreen(places.root.x, places.root.y);
    for (let k = 0; k < tree.nOutputs; k++) {
      const [x, y] = this.toScreen(places.x[k], places.y[k]);
      context.beginPath();
      context.moveTo(rx, ry);
      if (places.kind === "radial") context.lineTo(x, y);
      else context.bezierCurveTo(rx + (x - rx) * 0.5, ry, rx + (x - rx) * 0.5, y, x, y);
      context.strokeStyle = k === winner ? colours.decision : colours.line;
      context.lineWidth = Math.max(0.5, (k === winner ? 4 : 1.5) * Math.min(1, this.scale));
      context.stroke();
    }
    this.disc(rx, ry, Math.max(2, NODE * 0.7 * this.scale), colours.ink);
  }

  disc(x, y, radius, fill, stroke = null, lineWidth = 1.5) {
    const { context } = this;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fillStyle = fill;
    context.fill();
    if (stroke) {
      Object.assign(context, { strokeStyle: stroke, lineWidth });
      context.stroke();
    }
  }

  drawNodes() {
    const { context, colours, scene } = this;
    const { places, tree, collapsed, hits, selected, hovered, winner } = scene;
    const unit = Math.min(1.5, this.scale * places.magnified);
    const radius = Math.max(1.4, NODE * unit), leaf = Math.max(0.8, LEAF * unit);
    const dots = new Map(); // small ones of one colour are one path
    for (const i of places.items) {
      const [x, y] = this.toScreen(places.x[i], places.y[i]);
      if (!this.isVisible(x, y, radius + 2)) continue;
      const isLeaf = tree.isLeaf(i), isFold = tree.isFold(i), lit = hits && hits[i];
      const room = Math.max(1, 0.42 * places.free[i] * this.scale);
      const size = Math.min(room, isLeaf ? leaf * (lit ? 1.6 : 1) : i < tree.nOutputs ? radius * 1.15 : radius);
      if (isFold && size > 1.5) {
        this.disc(x, y, 1.3 * Math.min(room, leaf), colours.node, lit ? colours.hits : colours.faint, 1.2);
        continue;
      }
      if (isLeaf || size < 3.2) {
        const colour = lit ? colours.hits : isLeaf ? (hits ? colours.line : colours.faint) : colours.ink;
        const key = colour + size.toFixed(1);
        if (!dots.has(key)) dots.set(key, { colour, path: new Path2D() });
        const { path } = dots.get(key);
        if (size < 1.2) path.rect(x - size, y - size, 2 * size, 2 * size);
        else {
          path.moveTo(x + size, y);
          path.arc(x, y, size, 0, 2 * Math.PI);
        }
        continue;
      }
      const isOutput = i < tree.nOutputs;
      const rim = lit ? colours.hits : isOutput && i === winner ? colours.decision : colours.ink;
      this.disc(x, y, size, collapsed[i] ? colours.ink : colours.node, rim, isOutput || lit ? 2.5 : 1.5);
      if (size > 4) this.glyph(x, y, size * 0.55, tree, i, collapsed[i] ? colours.node : colours.ink);
    }
    for (const { colour, path } of dots.values()) {
      context.fillStyle = colour;
      context.fill(path);
    }
    for (const [item, width] of [[hovered, 2], [selected, 3]]) {
      if (item < 0 || !places.shown[item]) continue;
      const [x, y] = this.toScreen(places.x[item], places.y[item]);
      context.beginPath();
      context.arc(x, y, radius + 5, 0, 2 * Math.PI);
      Object.assign(context, { strokeStyle: colours.mixed, lineWidth: width });
      context.stroke();
    }
  }

  /** Draw the curve of a node's activation, or a plus where nodes are hidden below. */
  glyph(x, y, size, tree, node, colour) {
    const { context, scene } = this;
    context.beginPath();
    if (scene.collapsed[node]) {
      context.moveTo(x - size, y);
      context.lineTo(x + size, y);
      context.moveTo(x, y - size);
      context.lineTo(x, y + size);
    } else {
      const phi = tree.functions[node], steps = 8, span = 4;
      const curve = Array.from({ length: steps + 1 }, (_, k) => phi(span * ((2 * k) / steps - 1)));
      const low = Math.min(...curve), high = Math.max(...curve);
      curve.forEach((h, k) => {
        const px = x + size * ((2 * k) / steps - 1), py = y + size * 0.8 * (1 - (2 * (h - low)) / (high - low || 1));
        if (k) context.lineTo(px, py);
        else context.moveTo(px, py);
      });
    }
    Object.assign(context, { strokeStyle: colour, lineWidth: 1.4 });
    context.stroke();
  }

  /** Return whether there is room for labels between two leaves. */
  showsLeafLabels(places = this.scene.places) {
    return this.scale >= this.labelsFrom && places.spacing * this.scale >= CLOSEST_LABELS;
  }

  drawLabels() {
    const { context, scene } = this;
    const { places, tree } = scene;
    context.textBaseline = "middle";
    const size = Math.min(FONT * 1.25, Math.max(SMALLEST_FONT, FONT * this.scale));
    const showNode = (i) => unit >= 0.62 && (places.kind !== "radial" || places.free[i] * this.scale > 26);
    const showLeaves = this.showsLeafLabels(), unit = this.scale * places.magnified;
    const showOutputs = Math.abs(places.outputSpacing * this.scale) > 44;
    const inLines = places.kind !== "radial" && places.spacing * this.scale > CLOSEST_LABELS;
    context.font = `${size}px ${this.font}`;
    for (const i of places.items) {
      const isOutput = i < tree.nOutputs;
      const isLine = inLines && isOutput && scene.collapsed[i]; // its name is beside it
      if (isOutput && !showOutputs && !isLine && i !== scene.winner && tree.nOutputs > 1) continue;
      if (!isOutput && !(tree.isLeaf(i) ? showLeaves : showNode(i) || (scene.collapsed[i] && showLeaves))) continue;
      const [x, y] = this.toScreen(places.x[i], places.y[i]);
      if (!this.isVisible(x, y, 260)) continue;
      if (tree.isLeaf(i) || (scene.collapsed[i] && !isOutput)) this.leafLabel(i, x, y);
      else if (isLine) this.outputLine(i, x, y, places.spacing * this.scale);
      else if (isOutput) this.outputLabel(i, x, y, size);
      else this.nodeLabel(i, x, y, size);
    }
  }

  nodeRadius(i) {
    const { places } = this.scene;
    return Math.min(0.42 * places.free[i] * this.scale, NODE * Math.min(1.5, this.scale * places.magnified));
  }

  leafLabel(i, x, y) {
    const { context, scene, colours } = this;
    const { places } = scene;
    const parts = scene.label(i);
    if (scene.collapsed[i]) parts.push([`· ${scene.hidden(i)} below`, "faint"]);
    const distance = scene.collapsed[i] ? this.nodeRadius(i) + 5 : 8;
    const pale = scene.hits && !scene.hits[i];
    const faint = scene.faded && scene.styles.emphasis[i] < 0.12;
    context.globalAlpha = pale || faint ? 0.55 : 1;
    context.save();
    context.translate(x, y);
    let side = 1;
    if (places.kind === "radial") {
      const angle = places.angle[i];
      side = Math.cos(angle) < 0 ? -1 : 1;
      context.rotate(side < 0 ? angle + Math.PI : angle);
    }
    let at = side * distance;
    context.textAlign = side < 0 ? "right" : "left";
    for (const [text, colour] of side < 0 ? [...parts].reverse() : parts) {
      context.fillStyle = pale ? colours.faint : colours[colour];
      context.fillText(text, at, 0);
      at += side * (context.measureText(text).width + 5);
    }
    context.restore();
    context.globalAlpha = 1;
  }

  /** Draw a text with a rim of the background, so that lines below it do not disturb. */
  haloText(text, x, y, colour) {
    const { context, colours } = this;
    Object.assign(context, { strokeStyle: colours.ground, lineWidth: 4, lineJoin: "round" });
    context.strokeText(text, x, y);
    context.fillStyle = colours[colour];
    context.fillText(text, x, y);
  }

  outputLabel(i, x, y, size) {
    const { context, scene } = this;
    const big = Math.max(11, size * 1.05);
    context.font = `600 ${big}px ${this.font}`;
    context.textAlign = "center";
    const [name, value] = scene.outputLabel(i);
    const below = this.nodeRadius(i) * 1.15 + big * 0.75;
    this.haloText(shorten(name, this.width < 500 ? 14 : 28), x, y - below, i === scene.winner ? "decision" : "ink");
    if (value) this.haloText(value, x, y + below, "ink");
    context.font = `${size}px ${this.font}`;
  }

  /** Draw name and value of a collapsed output beside it. */
  outputLine(i, x, y, room) {
    const { context, scene } = this;
    const font = context.font, size = Math.min(FONT, Math.max(9, 0.85 * room)), isWinner = i === scene.winner;
    context.font = `${isWinner ? 600 : 400} ${size}px ${this.font}`;
    context.textAlign = "left";
    const [name, value] = scene.outputLabel(i);
    this.haloText(`${shorten(name, this.width < 500 ? 24 : 40)}  ${value ?? ""}`, x + this.nodeRadius(i) + 6, y, isWinner ? "decision" : "ink");
    context.font = font;
  }

  nodeLabel(i, x, y, size) {
    const { context, scene } = this;
    const [first, second] = scene.label(i);
    const small = Math.max(SMALLEST_FONT, size * 0.88);
    const above = this.nodeRadius(i) + small * 0.7;
    context.font = `${small}px ${this.font}`;
    context.textAlign = "center";
    this.haloText(first[0], x, y - above, first[1]);
    const { kind, spacing } = scene.places;
    if (kind === "radial" || spacing * this.scale > ROOM_FOR_TWO) this.haloText(second[0], x, y + above, second[1]);
    context.font = `${size}px ${this.font}`;
  }
}
