// Pointer, wheel, touch and keyboard on the drawing.

const PER_NOTCH = 1.0015, KEY_PAN = 60, CLICK = 5;

/**
 * Connect a canvas with what gestures mean.
 *
 * `actions` has pan, zoom, settle (a gesture has ended), hover, select, toggle, key.
 */
export function listen(canvas, actions, wheelNeedsKey) {
  const pointers = new Map();
  let start = null, moved = false, spread = 0;

  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, at(event));
    [start, moved, spread] = [at(event), false, distance(pointers)];
  });

  canvas.addEventListener("pointermove", (event) => {
    const here = at(event), before = pointers.get(event.pointerId);
    if (!before) return actions.hover(here.x, here.y);
    pointers.set(event.pointerId, here);
    if (pointers.size > 1) {
      const now = distance(pointers), middle = centre(pointers);
      if (spread) actions.zoom(now / spread, middle.x, middle.y);
      [spread, moved] = [now, true];
    }
    if (moved || Math.hypot(here.x - start.x, here.y - start.y) > CLICK) {
      const parts = pointers.size;
      actions.pan((here.x - before.x) / parts, (here.y - before.y) / parts);
      moved = true;
    }
  });

  const end = (event) => {
    if (!pointers.delete(event.pointerId)) return;
    spread = 0;
    if (!moved && event.type === "pointerup") actions.select(start.x, start.y);
    actions.settle();
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerleave", () => actions.hover(-1e6, -1e6));
  canvas.addEventListener("dblclick", (event) => actions.toggle(at(event).x, at(event).y));

  canvas.addEventListener(
    "wheel",
    (event) => {
      if (wheelNeedsKey && !event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 20 : 1;
      const { x, y } = at(event);
      actions.zoom(PER_NOTCH ** (-event.deltaY * lines * (event.ctrlKey ? 4 : 1)), x, y);
      actions.settle();
    },
    { passive: false },
  );

  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const name = (event.shiftKey && event.key.startsWith("Arrow") ? "Shift+" : "") + event.key;
    const pans = { "Shift+ArrowLeft": [1, 0], "Shift+ArrowRight": [-1, 0], "Shift+ArrowUp": [0, 1], "Shift+ArrowDown": [0, -1] };
    if (pans[name]) actions.pan(KEY_PAN * pans[name][0], KEY_PAN * pans[name][1]);
    else if (!actions.key(name)) return;
    event.preventDefault();
    actions.settle();
  });
}

function distance(pointers) {
  if (pointers.size < 2) return 0;
  const [a, b] = pointers.values();
  return Math.hypot(a.x - b.x, a.y - b.y);
}

function centre(pointers) {
  const [a, b] = pointers.values();
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
}
