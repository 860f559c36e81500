// Attributions: the contribution of each leaf to the difference between an output and its value for
// a baseline row. Each leaf has one path to one output, so all of them take one pass down the tree:
// the difference of a leaf's input is multiplied by the weights on its path and by the factor of
// each activation on it.
#pragma once

#include "../passes/blocks.hpp"
#include "../passes/forward.hpp"

namespace bnt::BNT_ISA {

// Below this difference of two weighted sums, the quotient of differences has more error by
// rounding than the mean of the two slopes has.
template <class T>
constexpr T kSmallDifference = std::is_same_v<T, float> ? T(2e-2) : T(3e-5);

template <class A>
constexpr bool is_piecewise_linear = requires { A::is_piecewise_linear; };

// The factor of an activation for a difference of its weighted sums: the quotient of the
// differences of values and of sums (the rescale rule of DeepLIFT), which tends to the slope.
template <class A, class T>
BNT_INLINE Vec<T> secant(Vec<T> z, Vec<T> h, Vec<T> slope, Vec<T> z0, Vec<T> h0, Vec<T> slope0) {
    if constexpr (std::is_same_v<A, Linear>) return slope;
    const Vec<T> dz = z - z0, quotient = (h - h0) / dz;
    if constexpr (is_piecewise_linear<A>) return slope == slope0 ? slope : quotient;
    return maximum<T>(dz, -dz) < kSmallDifference<T> ? T(0.5) * (slope + slope0) : quotient;
}

// The nodes of a tree for the baseline row.
template <class T>
struct BaselineNodes {
    Buffer<T> sum, value, slope;
};

// The values and factors of node j, given n vectors of its weighted sums.
template <class T>
BNT_NOINLINE void node_factors(const Tree& t, const T* phi, int j, const BaselineNodes<T>* base,
                               int n, const Vec<T>* z, T* value, T* factor) {
    constexpr int W = Simd<T>::lanes;
    Activations::with(t.activation[j], [&](auto tag) {
        using A = typename decltype(tag)::type;
        const Phi<T> parameters = phi_at<A>(phi + t.phi_start[j], 1);
        for (int v = 0; v < n; ++v) {
            const Vec<T> height = A::template value<T>(z[v], parameters);
            Vec<T> slope = A::template slope<T>(z[v], height, parameters);
            if (base)
                slope = secant<A, T>(z[v], height, slope, broadcast<T>(base->sum[j]),
                                     broadcast<T>(base->value[j]), broadcast<T>(base->slope[j]));
            store(value + v * W, height);
            store(factor + v * W, slope);
        }
    });
}

// The value and the factor of each node for R rows: with a baseline its secant, else its slope.
template <class T, int R>
void forward_factors(const Tree& t, Weights<const T> w, const T* x, const BaselineNodes<T>* base,
                     T* h, T* factor, T* sums = nullptr) {
    constexpr int W = Simd<T>::lanes, V = R / W;
    for (int j = t.n_nodes - 1; j >= 0; --j) {
        Vec<T> z[V];
        weighted_sum<T, R>(t, w, x, h, j, z);
        node_factors<T>(t, w.phi, j, base, V, z, h + size_t(j) * R, factor + size_t(j) * R);
        if (sums)
            for (int v = 0; v < V; ++v) store(sums + size_t(j) * R + v * W, z[v]);
    }
}

// Adds the attributions of leaves to their cells [n_cells][R], times a weight. The factor of each
// node becomes that of its whole path.
template <class T, int R>
void backward_attributions(const Tree& t, Weights<const T> w, const T* x, const T* baseline,
                           T* factor, const int32_t* cell, T weight, T* cells) {
    constexpr int W = Simd<T>::lanes, V = R / W;
    for (int j = 0; j < t.n_nodes; ++j) {
        T* node = factor + size_t(j) * R;
        Vec<T> path[V];
        for (int v = 0; v < V; ++v) path[v] = load(node + v * W);
        if (j >= t.n_outputs) {
            const T* above = factor + size_t(t.parent[j]) * R;
            for (int v = 0; v < V; ++v) path[v] *= w.edge[j] * load(above + v * W);
            for (int v = 0; v < V; ++v) store(node + v * W, path[v]);
        }
        for (int l = t.leaf_start[j]; l < t.leaf_start[j + 1]; ++l) {
            const T* column = x + size_t(t.leaf_input[l]) * R;
            const T offset = baseline[t.leaf_input[l]], scale = weight * w.leaf[l];
            T* sum = cells + size_t(cell[l]) * R;
            for (int v = 0; v < V; ++v) {
                const Vec<T> difference = load(column + v * W) - offset;
                store(sum + v * W, load(sum + v * W) + scale * path[v] * difference);
            }
        }
    }
}

template <class T, int R>
ForwardProblem attribute_blocks(const AttributionTask<T>& task, const Hooks& hooks) {
    const Tree& t = *task.tree;
    const Weights<const T> w = plain_weights(t, task.theta);
    const size_t nodes = size_t(t.n_nodes) * R, inputs = size_t(t.n_inputs) * R;
    BaselineNodes<T> base{Buffer<T>(t.n_nodes), Buffer<T>(t.n_nodes), Buffer<T>(t.n_nodes)};
    {
        Buffer<T> x(inputs), h(nodes), slope(nodes), sum(nodes);
        for (size_t i = 0; i < inputs; ++i) x[i] = task.baseline[i / R];
        forward_factors<T, R>(t, w, x.get(), nullptr, h.get(), slope.get(), sum.get());
        for (int j = 0; j < t.n_nodes; ++j) {
            base.sum[j] = sum[size_t(j) * R];
            base.value[j] = h[size_t(j) * R];
            base.slope[j] = slope[size_t(j) * R];
        }
    }
    const bool integrates = task.n_positions > 0;
    const size_t n_cells = size_t(task.n_cells);
    const size_t room = 2 * nodes + n_cells * R + (integrates ? inputs : 0);
    const int64_t work = int64_t(n_weights(t)) * 3 * std::max(1, task.n_positions);
    return each_block<T, R>(
        task.table, work, room, task.n_threads, hooks,
        [&](const T* x, T* h, int64_t row, int count) {
            T *factor = h + nodes, *cells = factor + nodes, *between = cells + n_cells * R;
            std::memset(static_cast<void*>(cells), 0, n_cells * R * sizeof(T));
            if (!integrates) {
                forward_factors<T, R>(t, w, x, &base, h, factor);
                backward_attributions<T, R>(t, w, x, task.baseline, factor, task.cell, T(1), cells);
            }
            for (int p = 0; p < task.n_positions; ++p) {
                for (size_t i = 0; i < inputs; ++i) {
                    const T from = task.baseline[i / R];
                    between[i] = from + task.position[p] * (x[i] - from);
                }
                forward_factors<T, R>(t, w, between, nullptr, h, factor);
                backward_attributions<T, R>(t, w, x, task.baseline, factor, task.cell,
                                            task.weight[p], cells);
            }
            T* out = task.out + row * task.n_cells;
            for (int r = 0; r < count; ++r)
                for (size_t c = 0; c < n_cells; ++c) out[r * n_cells + c] = cells[c * R + r];
            return all_finite(cells, int64_t(task.n_cells) * R);
        });
}

template <class T>
ForwardProblem attributions(const AttributionTask<T>& task, const Hooks& hooks) {
    // half of what forward takes: there are two numbers for each node, and cells
    constexpr int R = std::max(16, 4 * Simd<T>::lanes);
    if (task.table.n_rows == 0) return {};
    if (task.table.n_rows > R / 2) return attribute_blocks<T, R>(task, hooks);
    return attribute_blocks<T, 16>(task, hooks);
}

}  // namespace bnt::BNT_ISA
