// The activations of docs/format.md.

const sigmoid = (z) => 1 / (1 + Math.exp(-z));

export const ACTIVATIONS = {
  linear: (z) => z,
  sigmoid,
  tanh: Math.tanh,
  relu: (z) => (z > 0 ? z : 0),
  leaky_relu: (z, slope) => (z > 0 ? z : slope * z),
  gaussian: (z, center, width) => Math.exp(-(((z - center) / width) ** 2)),
  linear_sigmoid: (z, scale, offset) => scale * sigmoid(z) + offset,
  linear_tanh: (z, scale, offset) => scale * Math.tanh(z) + offset,
  bipolar: (z, steepness) => Math.tanh(steepness * z) / steepness,
  unipolar: (z, steepness) => 2 * Math.abs(steepness) * sigmoid(2 * Math.abs(steepness) * z),
};
