function square(z) {
  return z * z;
}

function exp(z) {
  return Math.exp(Math.min(Math.max(z, -708), 708));
}

function sigmoid(z) {
  return 1 / (1 + exp(-z));
}

function ifMissing(value, other) {
  return Number.isNaN(value) ? other : value;
}

function forest(inputs, shape, numbers, functions) {
  const outputs = [];
  const stack = [];
  let w = 0;
  for (let at = 0; at < shape.length; ) {
    const [kind, nChildren, nLeaves] = [shape[at], shape[at + 1], shape[at + 2]];
    at += 3;
    let z = numbers[w++];
    for (let i = 0; i < nChildren; i++) z += numbers[w++] * stack.pop();
    for (let i = 0; i < nLeaves; i++) z += numbers[w++] * inputs[shape[at++]];
    const [apply, nConstants] = functions[kind >> 1];
    (kind % 2 ? outputs : stack).push(apply(z, ...numbers.slice(w, w + nConstants)));
    w += nConstants;
  }
  return outputs;
}
