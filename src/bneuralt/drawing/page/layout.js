// Where the items of a tree are drawn: in columns by depth, or on circles around the root.
// Each visible leaf and each collapsed node has a slot of its own, so that edges never cross.

const ROW = 22, COLUMN = 168, NARROWEST = 50, GAP = 0.7, MOST_STRETCH = 1.8;
const ARC = 13, RING = 84;

/**
 * Return which items are shown, with their slots.
 *
 * `isHidden(item)` tells what is never shown, `folded` has the number of leaves that the fold below
 * each node stands for, `room(level)` is the width of a slot below a node of this level.
 */
function slots(tree, { collapsed, isHidden, folded }, gap, room) {
  const { nNodes, nOutputs, parent } = tree;
  const shown = new Uint8Array(tree.size + nNodes), width = new Float64Array(nNodes);
  const first = new Float64Array(nNodes), slot = new Float64Array(tree.size + nNodes);
  const isOpen = (node) => shown[node] && !collapsed[node];
  for (let i = 0; i < nNodes; i++) shown[i] = i < nOutputs || (isOpen(parent[i]) && !isHidden(i)) ? 1 : 0;
  for (let i = nNodes; i < tree.size; i++) {
    const above = tree.parentOf(i);
    if (!isOpen(above) || isHidden(i)) continue;
    shown[i] = 1;
    width[above] += room(tree.level[above] + 1);
  }
  for (let i = nNodes - 1; i >= 0; i--) {
    if (!shown[i]) continue;
    if (isOpen(i) && folded[i]) {
      shown[tree.fold(i)] = 1;
      width[i] += room(tree.level[i] + 1);
    }
    if (!width[i]) width[i] = room(tree.level[i]); // collapsed, or with nothing that is shown
    if (i >= nOutputs) width[parent[i]] += width[i];
  }
  const next = new Float64Array(nNodes); // the next free slot below each node
  let total = 0;
  for (let i = 0; i < nNodes; i++) {
    if (!shown[i]) continue;
    if (i < nOutputs) {
      first[i] = total + (i && !(collapsed[i] && collapsed[i - 1]) ? gap : 0);
      total = first[i] + width[i];
    } else {
      first[i] = next[parent[i]];
      next[parent[i]] += width[i];
    }
    next[i] = first[i];
    slot[i] = first[i] + width[i] / 2;
  }
  for (let i = nNodes; i < slot.length; i++) {
    if (!shown[i]) continue;
    const above = tree.parentOf(i), width = room(tree.level[above] + 1);
    slot[i] = next[above] + width / 2;
    next[above] += width;
  }
  return { shown, slot, width, total };
}

/** Return the level of the lowest items that are shown. */
function deepestShown(tree, { collapsed, isHidden }) {
  const open = new Uint8Array(tree.nNodes);
  let lowest = 1;
  for (let i = 0; i < tree.nNodes; i++) {
    open[i] = (i < tree.nOutputs || (open[tree.parent[i]] && !isHidden(i))) && !collapsed[i] ? 1 : 0;
    if (open[i]) lowest = Math.max(lowest, tree.level[i] + 1);
  }
  return lowest;
}

/**
 * Return positions of the shown items, and of the root above several outputs.
 *
 * Columns are closer together where the room, in pixels, is high and narrow; `available.label(item)` is the
 * width of the label beside a leaf.
 */
export function layOut(tree, parts, kind, available) {
  const gap = tree.nOutputs > 1 ? GAP : 0, offset = tree.nOutputs > 1 ? 1 : 0;
  const lowest = deepestShown(tree, parts) + offset;
  // On an inner circle, the same room for a label is a larger angle.
  const room = (level) => (kind === "radial" ? Math.min(3, lowest / Math.max(1, level + offset)) : 1);
  const { shown, slot, width, total } = slots(tree, parts, gap, room);
  const n = shown.length, items = [], depth = new Int32Array(n);
  let deepest = 1;
  for (let i = 0; i < n; i++) {
    if (!shown[i]) continue;
    items.push(i);
    depth[i] = offset + (tree.isLeaf(i) ? tree.level[tree.parentOf(i)] + 1 : tree.level[i]);
    deepest = Math.max(deepest, depth[i]);
  }
  const x = new Float32Array(n), y = new Float32Array(n), angle = new Float32Array(n);
  const free = new Float32Array(n); // how far it is to the neighbours, about
  const places = { kind, items, shown, total, x, y, angle, free, spacing: ROW, magnified: 1, labels: 0, root: { x: 0, y: 0 } };
  if (kind === "radial") {
    const turn = (2 * Math.PI) / (total + gap);
    const ring = Math.max(RING, ((total * ARC) / (2 * Math.PI) / deepest) * 1.1);
    places.spacing = ring * deepest * turn;
    places.magnified = ring / RING;
    for (const i of items) {
      angle[i] = slot[i] * turn - Math.PI / 2;
      x[i] = depth[i] * ring * Math.cos(angle[i]);
      y[i] = depth[i] * ring * Math.sin(angle[i]);
      const slotWidth = tree.isLeaf(i) ? room(depth[i] - offset) : width[i];
      free[i] = Math.min(ring, slotWidth * turn * depth[i] * ring || ring);
    }
  } else {
    const scale = Math.min(1, available.height / (total * ROW));
    const labels = items.filter((i) => tree.isLeaf(i)).map((i) => [depth[i], available.label(i)]);
    const widest = labels.reduce((most, [depth, label]) => Math.min(most, (available.width - label) / depth), available.width / deepest);
    const column = Math.max(NARROWEST, Math.min(COLUMN, widest / scale)), step = Math.min(widest, column * scale);
    // The room for labels beside the last column: other labels begin further left.
    places.labels = labels.reduce((most, [depth, label]) => Math.max(most, label - (deepest - depth) * step), 40);
    // Rows are further apart where the room is higher than the tree.
    const row = ROW * Math.max(1, Math.min(MOST_STRETCH, (available.height * deepest * column) / ((available.width - places.labels) * total * ROW)));
    for (const i of items) {
      x[i] = depth[i] * column;
      y[i] = slot[i] * row;
      free[i] = ROW;
    }
    places.root.y = (total * row) / 2;
    places.spacing = row;
  }
  places.outputSpacing = tree.nOutputs > 1 ? Math.hypot(x[1] - x[0], y[1] - y[0]) : Infinity;
  return places;
}

/** Return the smallest box around all items. */
export function bounds(places) {
  const box = { left: places.root.x, right: places.root.x, top: places.root.y, bottom: places.root.y };
  for (const i of places.items) {
    box.left = Math.min(box.left, places.x[i]);
    box.right = Math.max(box.right, places.x[i]);
    box.top = Math.min(box.top, places.y[i]);
    box.bottom = Math.max(box.bottom, places.y[i]);
  }
  return box;
}
