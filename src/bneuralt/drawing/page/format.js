// Numbers and names as text.

export function number(x) {
  if (!Number.isFinite(x)) return String(x);
  const size = Math.abs(x);
  if (size !== 0 && (size < 0.001 || size >= 1e6)) return minus(x.toExponential(1));
  return minus(String(Number(x.toPrecision(size >= 1000 ? 5 : 3))));
}

export function signed(x) {
  return (x < 0 ? "" : "+") + number(x);
}

export const percent = (share) => `${(100 * share).toFixed(1)} %`;

const minus = (text) => text.replace(/-/g, "\u2212");

/** Cut a name to a length; whole code points, so that emoji stay whole. */
export function shorten(text, length) {
  const points = Array.from(text.slice(0, 2 * length + 2));
  return points.length > length ? points.slice(0, length - 1).join("") + "…" : text;
}

export const plural = (n, one, many = one + "s") => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
