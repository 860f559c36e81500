// The derivative of the outputs by each parameter, row by row.
#pragma once

#include "../passes/blocks.hpp"
#include "../passes/forward.hpp"

namespace bnt::BNT_ISA {

// Writes the derivatives [n_parameters][R] of R rows, in the order of the parameters. `sums` and h
// are those of a forward pass; the delta of a node (the derivative of its output by its weighted
// sum) is written to the place of its bias.
template <class T, int R>
void jacobian_block(const Tree& t, Weights<const T> w, const T* x, const T* h, const T* sums,
                    Weights<T> by) {
    constexpr int W = Simd<T>::lanes, V = R / W;
    for (int j = 0; j < t.n_nodes; ++j) {
        const bool is_output = j < t.n_outputs;
        const T* above = is_output ? nullptr : by.bias + size_t(t.parent[j]) * R;
        const T edge = is_output ? T(1) : w.edge[j];
        T* delta = by.bias + size_t(j) * R;
        const int n_phi = t.phi_is_trained ? n_parameters(t, j) : 0;
        const NodeSlopes<Called, T, V> slopes(t, w.phi, j, sums + size_t(j) * R, h + size_t(j) * R);
        for (int v = 0; v < V; ++v) {
            const size_t at = size_t(j) * R + v * W;
            const Vec<T> delta_above = is_output ? broadcast<T>(1) : load(above + v * W);
            const Vec<T> by_value = edge * delta_above;
            store(delta + v * W, slopes.slope(v) * by_value);
            if (!is_output) store(by.edge + at, delta_above * load(h + at));
            T* by_phi = by.phi + size_t(t.phi_start[j]) * R + v * W;
            if (n_phi > 0) store(by_phi, slopes.by_phi(v).a * by_value);
            if (n_phi > 1) store(by_phi + R, slopes.by_phi(v).b * by_value);
        }
        for (int l = t.leaf_start[j]; l < t.leaf_start[j + 1]; ++l) {
            const T* column = x + size_t(t.leaf_input[l]) * R;
            for (int v = 0; v < V; ++v)
                store(by.leaf + size_t(l) * R + v * W, load(delta + v * W) * load(column + v * W));
        }
    }
}

template <class T>
ForwardProblem jacobian(const JacobianTask<T>& task, const Hooks& hooks) {
    constexpr int R = 16;
    const Tree& t = *task.tree;
    if (task.table.n_rows == 0) return {};
    const Weights<const T> w = plain_weights(t, task.theta);
    const size_t nodes = size_t(t.n_nodes) * R, n = size_t(n_parameters(t));
    return each_block<T, R>(task.table, n_weights(t) * 3, 2 * nodes + n * R, task.n_threads, hooks,
                            [&](const T* x, T* h, int64_t row, int count) {
                                T *sums = h + nodes, *by = sums + nodes;
                                const size_t n_edges = size_t(t.n_nodes - t.n_outputs);
                                // edge is indexed by node, so it points n_outputs before its first
                                // number
                                const Weights<T> parts{by,
                                                       by + (size_t(t.n_nodes) - t.n_outputs) * R,
                                                       by + (t.n_nodes + n_edges) * R,
                                                       by + (t.n_nodes + n_edges + t.n_leaves) * R};
                                forward_block<T, R>(t, w, x, h, sums);
                                jacobian_block<T, R>(t, w, x, h, sums, parts);
                                T* out = task.out + row * int64_t(n);
                                bool finite = true;
                                for (int r = 0; r < count; ++r)
                                    for (size_t i = 0; i < n; ++i) {
                                        finite &= by[i * R + r] * T(0) == T(0);
                                        out[r * n + i] = by[i * R + r];
                                    }
                                return finite;
                            });
}

}  // namespace bnt::BNT_ISA
